"""The controller check, which has findings about the players' controllers, based on the inputs of a Melee game.

It flags controllers so that people can look at them. It never proves that one is broken or illegal. `check` runs all
checks, and `bands`, `motion`, `patterns` and `health` implement them. `samples` and `runs` provide their input, and
`confidence` has the words for their results. None of these has any side effects. `checked_games` runs them in a daemon.
"""
