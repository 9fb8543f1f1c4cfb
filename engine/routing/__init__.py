"""The way that a question takes."""
