"""LlamaIndex's interfaces to the graph: index, store and retriever."""
