"""Answers without a language model: sentences and spans of the sources."""
