"""Deliveries to web servers: a queue that survives restarts, and a task for each receiver that posts from it.

Other parts use them through the service `parts.services.Deliveries`.
"""
