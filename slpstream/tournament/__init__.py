"""The needs of a tournament beyond sets: controllers that work, and replays handed on."""
