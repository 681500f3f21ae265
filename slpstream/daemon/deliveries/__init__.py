"""Deliveries to other servers, for parts that post: a persistent queue, and the task that works through it."""
