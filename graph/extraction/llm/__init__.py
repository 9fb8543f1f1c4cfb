"""Extraction by a language model: prompts, parsing of replies, grounding in the text."""
