"""Who sits at which port of a station, as the players say on their phones. Pure."""
