"""start.gg, which we use through its GraphQL interface.

We know the facts about it from its developer portal and from tools of the community. If you want to know how certain
each of them is, have a look at `slpstream/parts/bracket/docs.md`.
"""
