"""Claims of an answer against what its sources say."""
