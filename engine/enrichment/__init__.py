"""Work of language models on a library: extraction, reports and entities, and their cost."""
