"""The setup audit: which setups of a tournament differ from the others, and in what."""
