"""What was said before a question: how much of it is read, and what the question means after it."""
