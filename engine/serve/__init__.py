"""Where people and programs call."""
