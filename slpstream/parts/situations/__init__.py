"""The situations in the configuration.

We find them in the games of stations, list them, mark them, and pass them on to other parts.
"""
