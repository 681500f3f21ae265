"""Deliveries to other servers, for parts that post something: a persistent queue, and the task that empties it."""
