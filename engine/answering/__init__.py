"""Passages to a cited answer."""
