"""Pictures and speech."""
