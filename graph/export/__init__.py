"""The graph as a file: JSON, GraphML, a page or a picture."""
