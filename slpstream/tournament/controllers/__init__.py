"""The controller check: findings about the players' controllers from the inputs of a Melee game. Pure.

A finding points people to a controller, and never calls it broken or illegal. `check` puts the checks together, and
`report` has their results.
"""
