"""Processes in which files are read."""
