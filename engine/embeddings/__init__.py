"""Embedding models: bundled, hashed or behind an endpoint."""
