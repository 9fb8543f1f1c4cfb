"""Classifier of what a question asks for, with its example questions and weights."""
