"""Conversation: history and query rewriting."""
