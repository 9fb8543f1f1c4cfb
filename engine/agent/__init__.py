"""Agentic search: typed actions, stop rules, deciders by rules and by a model, and their loop."""
