"""Gold questions made by rules from the documents of a library."""
