"""HTTP and websocket on one port, the overlay and its assets."""
