"""The moments that operators mark, to be shown again."""
