"""Web addresses."""
