"""Being found on the local network: the daemon by DNS-SD, and a relayed station by the broadcasts of a console."""
