"""Observability: LlamaIndex instrumentation and OpenTelemetry."""
