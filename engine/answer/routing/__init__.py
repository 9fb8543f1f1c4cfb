"""Where a question goes: passages, the whole, or both."""
