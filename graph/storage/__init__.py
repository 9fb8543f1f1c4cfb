"""The database of the graph: its schema, the facts read from chunks, and queries."""
