"""Verification of an answer against its sources."""
