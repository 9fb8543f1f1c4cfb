"""Names that mean one thing become one entity."""
