"""Chunk to mentions and statements."""
