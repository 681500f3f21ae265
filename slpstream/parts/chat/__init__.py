"""Results of games and sets as messages in a chat, over webhooks in Discord's format."""
