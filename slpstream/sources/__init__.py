"""Where replay bytes come from: files that grow, and consoles on the network."""
