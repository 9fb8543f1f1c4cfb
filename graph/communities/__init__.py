"""Communities of entities, their hierarchy and their reports."""
