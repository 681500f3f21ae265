"""Results in the terms of start.gg, for brackets and webhooks."""
