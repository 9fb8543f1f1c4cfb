"""Search over the graph: random walks and global questions."""
