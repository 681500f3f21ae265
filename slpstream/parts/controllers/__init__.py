"""The controller check: findings about the players' controllers from the inputs of a Melee game.

It flags controllers for people to look at. It never proves that one is broken or illegal. `check` runs all checks,
`bands`, `motion`, `patterns` and `health` implement them, `samples` and `runs` are their input, and `confidence` has
the words for their results. All of these are pure. `checked_games` runs them in a daemon.
"""
