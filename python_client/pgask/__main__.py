"""`python -m pgask` is the command `pgask`."""

from pgask.cli import main

main()
