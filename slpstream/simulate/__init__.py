"""A replay written again as a game would, paced, and the synthetic match of the demo."""
