"""Documents in: discovery, change detection, loading and reading."""
