"""Interfaces for people and programs."""
