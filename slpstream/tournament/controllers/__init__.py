"""The controller check: what the inputs of a Melee game say about the players' controllers. Pure.

It shows where people should look, and never that a controller is broken or illegal. `check` puts the checks together,
and `report` has what they return.
"""
