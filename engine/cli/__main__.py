"""`python -m engine.cli`: the command line without its console script."""

from .main import main

main()
