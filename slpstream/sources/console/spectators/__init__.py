"""A station served in the protocol of Dolphin's spectator server: ENet, the messages, and the games in them."""
