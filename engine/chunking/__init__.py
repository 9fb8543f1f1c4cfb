"""Text to chunks with exact spans."""
