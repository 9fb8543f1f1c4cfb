"""Query routing: local passages, global overview, or both."""
