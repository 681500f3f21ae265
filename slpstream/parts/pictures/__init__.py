"""The pictures of other stream tools, copied for the overlay."""
