"""Scoreboard tools of other people, which are kept up to date with the set of a station. Each kind of tool has its own
module.

A scoreboard shows a `Board`, which is made from the payload of a `set` message. This means that if an operator corrects
something, you see it on the scoreboard immediately. If you don't configure a scoreboard, nothing in this package is
imported.
"""
