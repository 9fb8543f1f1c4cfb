"""Settings to model objects: embeddings, tokenisers, language models."""
