"""Results in the form that start.gg uses. This is for brackets and webhooks."""
