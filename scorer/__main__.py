"""`python -m scorer`: the same as the command `scorer`."""

from scorer.cli import main

main()
