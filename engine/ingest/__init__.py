"""Sources to text: what there is, and what it says."""
