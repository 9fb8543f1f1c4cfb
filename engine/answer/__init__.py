"""Question and passages to a cited answer."""
