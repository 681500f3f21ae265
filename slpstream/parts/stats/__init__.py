"""The command `stats`: the stats of games as tables or JSON."""
