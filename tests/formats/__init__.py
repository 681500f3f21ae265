"""The formats beside Slippi, through everything that treats them like Slippi."""
