"""Answers in a document's own words, without a model."""
