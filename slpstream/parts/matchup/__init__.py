"""The earlier sets and games of the two players of a set, and how each of them plays."""
