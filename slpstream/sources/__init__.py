"""Where bytes come from: growing files, and consoles on the network."""
