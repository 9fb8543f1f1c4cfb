"""Answers to Chinese questions by rules: facts of people, short answers, other names."""
