"""Sets and games as chapters for YouTube, and as cuts of a stream's recording."""
