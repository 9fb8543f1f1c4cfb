"""Exception tree of `graph`.

GraphError
└── GraphInputError    an argument that cannot be used, named in the message
    └── NameUnknown    nothing that may be seen has this name or id
"""


class GraphError(Exception):
    """Root of all errors of this package."""


class GraphInputError(GraphError):
    """An argument cannot be used; the message gives its value and what is expected."""


class NameUnknown(GraphInputError):
    """Nothing that may be seen has this name or id; the message names what comes near."""
