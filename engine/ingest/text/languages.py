"""Source code and configuration formats, by suffix or name.

Tables only.
"""

from __future__ import annotations

LANGUAGES: dict[str, str] = {
    ".bash": "bash",
    ".c": "c",
    ".cc": "cpp",
    ".cjs": "javascript",
    ".cpp": "cpp",
    ".cs": "csharp",
    ".css": "css",
    ".cxx": "cpp",
    ".go": "go",
    ".h": "c",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
    ".java": "java",
    ".js": "javascript",
    ".jsx": "javascript",
    ".ksh": "bash",
    ".kt": "kotlin",
    ".kts": "kotlin",
    ".less": "css",
    ".lua": "lua",
    ".mjs": "javascript",
    ".php": "php",
    ".ps1": "powershell",
    ".py": "python",
    ".pyi": "python",
    ".r": "r",
    ".rb": "ruby",
    ".rs": "rust",
    ".sc": "scala",
    ".scala": "scala",
    ".scss": "css",
    ".sh": "bash",
    ".sql": "sql",
    ".swift": "swift",
    ".ts": "typescript",
    ".tsx": "tsx",
    ".zsh": "bash",
}
"""Syntax parser language by lower-case suffix."""

CONFIGURATION = frozenset(
    {
        *(".cfg", ".cmake", ".conf", ".dockerfile", ".env", ".gradle", ".ini", ".mk"),
        *(".properties", ".tf", ".toml", ".yaml", ".yml"),
    }
)
"""Suffixes of files that set something: short lines that are read as text."""

NAMED_CODE: dict[str, str] = {
    **dict.fromkeys(
        ("brewfile", "fastfile", "gemfile", "podfile", "rakefile", "vagrantfile"), "ruby"
    ),
    **dict.fromkeys(("sconscript", "sconstruct", "snakefile", "wscript"), "python"),
}
"""The language of files that have no suffix, by their name in small letters."""

NAMED_CONFIGURATION = frozenset(
    {
        *("caddyfile", "codeowners", "containerfile", "dockerfile", "gnumakefile", "jenkinsfile"),
        *("justfile", "makefile", "pipfile", "procfile", "tiltfile"),
    }
)
"""Names (in small letters) of files without a suffix that build or set something."""

NAMED_TEXT = frozenset(
    {
        *("acknowledgements", "authors", "changelog", "changes", "contributing", "contributors"),
        *("copying", "copyright", "credits", "history", "install", "licence", "license"),
        *("maintainers", "news", "notice", "patents", "readme", "release", "security", "thanks"),
        *("todo", "unlicense"),
    }
)
"""Names (in small letters) of files without a suffix that people write to be read."""
