"""Readers: bytes of one format to Markdown."""
