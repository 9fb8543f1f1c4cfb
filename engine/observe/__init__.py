"""Seen from outside: LlamaIndex's instrumentation, and OpenTelemetry where it is asked for."""
