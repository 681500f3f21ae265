"""The scenes: pages for a stream, such as the overlay of a game and the result of a set."""
