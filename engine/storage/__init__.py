"""The library on disk: documents, vectors, keywords and the graph."""
