"""The graph as one reader may see it: entities, paths, evidence and communities."""
