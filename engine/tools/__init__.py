"""Agent tools, defined once for MCP and LlamaIndex."""
