"""HTTP and websockets on one port, the overlay and its assets."""
