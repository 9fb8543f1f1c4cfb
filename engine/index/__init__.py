"""The library and the indexes derived from it."""
