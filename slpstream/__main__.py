"""`python -m slpstream`."""

from slpstream.cli import main

main()
