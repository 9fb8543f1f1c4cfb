"""Entities and relations out of text."""
