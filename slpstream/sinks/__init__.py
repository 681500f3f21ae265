"""Where messages go that nobody asks for over the network."""
