"""The needs of a tournament beyond sets: equal setups, the right names, results in the bracket, replays handed on."""
