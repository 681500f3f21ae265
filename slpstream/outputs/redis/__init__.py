"""Redis Streams as an output: all messages of all stations, for gateways and workers."""
