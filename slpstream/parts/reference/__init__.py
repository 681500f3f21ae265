"""The command `reference`: pages made from the tables that the code itself uses."""
