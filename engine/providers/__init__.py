"""Settings to model objects; the only place that branches on a provider."""
