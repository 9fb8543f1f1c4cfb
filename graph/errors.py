"""What can go wrong inside `graph`.

GraphError
├── ExtractorUnavailable   a language model or dictionary that was asked for is not installed
└── GraphInputError        an argument that cannot be used, named in the message
    └── NameUnknown        nothing that may be seen has this name or id
"""


class GraphError(Exception):
    """Root of all errors of this package."""


class ExtractorUnavailable(GraphError):
    """The extractor that was asked for cannot run here; the message says what to install."""


class GraphInputError(GraphError):
    """An argument cannot be used; the message gives its value and what is expected."""


class NameUnknown(GraphInputError):
    """Nothing that may be seen has this name or id; the message names what comes near."""
