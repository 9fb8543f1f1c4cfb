"""From passages to a context that fits a model's window."""
