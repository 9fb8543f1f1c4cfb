"""Archives, opened within limits."""
