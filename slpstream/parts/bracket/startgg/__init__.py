"""start.gg, over its GraphQL interface.

The facts come from its developer portal and from the community's tools. `docs/tournament/bracket.md` lists how certain
each of them is.
"""
