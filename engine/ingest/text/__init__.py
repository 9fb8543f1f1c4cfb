"""Texts and markup languages, source code and subtitles."""
