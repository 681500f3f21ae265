"""The scenes, which are pages for a stream, such as the overlay of a game and the result of a set."""
