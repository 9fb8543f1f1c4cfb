"""Tables and rows of SQL databases."""
