"""Delimited text, JSON and XML."""
