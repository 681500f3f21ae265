"""The check of the players' controllers."""
