"""Answers given before: kept in memory or in Redis while the library is as it was."""
