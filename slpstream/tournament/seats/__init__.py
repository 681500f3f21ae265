"""The seats of a station, which players claim on their phones. Pure."""
