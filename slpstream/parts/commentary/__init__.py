"""What happens at a station, in short sentences."""
