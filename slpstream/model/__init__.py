"""The values that all packages exchange: events, messages, deltas, field tables and errors."""
