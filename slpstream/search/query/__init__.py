"""The query language for games: the syntax of the Slippi Launcher, and extensions. Pure."""
