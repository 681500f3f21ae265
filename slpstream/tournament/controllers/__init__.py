"""The controller check: findings about the players' controllers from the inputs of a Melee game. Pure.

It shows where people should look, and never that a controller is broken or illegal. `check` puts the checks together,
and `report` has what they return.
"""
