"""The venue wall: all stations with miniatures of their stages, a view of the dashboard at `#wall`."""
