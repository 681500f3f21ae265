"""The command `reference`, which prints pages that are made from the tables that the code itself uses."""
