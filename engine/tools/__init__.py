"""The library as tools of an agent."""
