"""start.gg, over its GraphQL interface.

The facts are those of its developer portal and of the community's tools. `docs/tournament/bracket.md` says how sure
each of them is.
"""
