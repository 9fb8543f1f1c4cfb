"""What an agent can do with a library, defined once: for MCP and for LlamaIndex alike."""
