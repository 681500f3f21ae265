"""The protocol of Dolphin's spectator server, over ENet: stations are served in it, and Dolphins are recorded by it."""
