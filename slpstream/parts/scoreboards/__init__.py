"""Scoreboard tools of other people, kept up to date with the set of a station. A module for each kind of tool.

A scoreboard shows a `Board`, which is made from the payload of a `set` message. So an operator's correction is on the
scoreboard immediately. Nothing in here is imported unless a scoreboard is configured.
"""
