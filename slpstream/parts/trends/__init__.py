"""How the games of one player change: by week, opponent, character and stage."""
