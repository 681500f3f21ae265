"""The broker (Redis Streams).

All messages of all stations are sent to it, so that gateways and workers on other machines can use them.
"""
