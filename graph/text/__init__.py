"""Text before it is understood: scripts, sentences and names."""
