"""Calls of language models: client, retries, budget, prices and structured output.

Importing this package loads no model and none of LlamaIndex.
"""
