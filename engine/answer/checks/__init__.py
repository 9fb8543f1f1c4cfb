"""What an answer says against what its sources say."""
