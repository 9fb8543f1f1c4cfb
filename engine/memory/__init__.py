"""Layered memory: working turns, session summaries, conversation documents and facts."""
