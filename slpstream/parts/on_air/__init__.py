"""The choice of the station on air.

It is made by the operator or, as long as the operator hasn't chosen any, by a rule.
"""
