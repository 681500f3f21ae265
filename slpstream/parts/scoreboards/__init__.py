"""Scoreboard tools of other people, kept up to date with the set of a station. A module for each kind of tool.

A scoreboard shows a `Board`, which is made from the payload of a `set` message. So what an operator corrects is on the
scoreboard at once. Nothing in here is imported unless a scoreboard is configured.
"""
