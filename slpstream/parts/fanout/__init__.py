"""The broker (Redis Streams): all messages of all stations, for gateways and workers on other machines."""
