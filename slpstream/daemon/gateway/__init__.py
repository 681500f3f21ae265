"""The same websocket and HTTP interface as the daemon's, fed from the broker. It keeps nothing that another gateway
would not have: a subscriber moves from one to the other with its cursor."""
