"""The limits of the index of games by age and size, which are keys of `[store]`."""
