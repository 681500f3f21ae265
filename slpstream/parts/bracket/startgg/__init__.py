"""start.gg, over its GraphQL interface.

The facts come from its developer portal and from the community's tools. `slpstream/parts/bracket/docs.md` lists how
certain each of them is.
"""
