"""The fields for crew battles in the set panel of the dashboard.

The score of crew battles itself is kept by the core.
"""
