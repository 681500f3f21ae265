"""Post the results of games and sets to a chat, over webhooks in Discord's format."""
