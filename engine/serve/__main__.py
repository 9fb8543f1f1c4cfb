"""`python -m engine.serve`: the command line without its console script."""

from .cli import main

main()
