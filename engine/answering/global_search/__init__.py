"""Answers to questions about the whole library."""
