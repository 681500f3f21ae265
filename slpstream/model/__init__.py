"""The values that every room speaks: events, messages, deltas, field tables, errors."""
