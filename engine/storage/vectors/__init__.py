"""Vectors of chunks: search, spaces, and stores outside the library."""
