"""The command `stats`, which shows the stats of games as tables or JSON."""
