"""The daemon's check of itself: finished games are decoded again and compared with the messages that were sent."""
