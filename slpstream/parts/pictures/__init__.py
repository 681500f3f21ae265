"""Copy the pictures that other stream tools have, so that you can use them in the overlay."""
