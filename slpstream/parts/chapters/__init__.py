"""Turn sets and games into chapters for YouTube, or into cuts of a recorded stream."""
