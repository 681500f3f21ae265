"""The configured situations: found in the games of stations, listed, marked, and passed to other parts."""
