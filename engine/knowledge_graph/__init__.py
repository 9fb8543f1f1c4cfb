"""Exploration, export and user overrides of the knowledge graph."""
