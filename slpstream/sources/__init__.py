"""Sources of replay bytes: growing files, and consoles on the network."""
