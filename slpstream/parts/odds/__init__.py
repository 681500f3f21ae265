"""The odds of a game: how likely each of two players is to win, from stocks, percents and the damage dealt so far.

`model` has the formula and reads its numbers from `model.json`. `game_odds` follows the final frames of a game, and
`log_odds` reads them from the messages of its log, live or finished. `turning_points` finds the largest swings.
`table`, `scoring` and `fitting` read games, judge a model by them, and fit one.
"""
