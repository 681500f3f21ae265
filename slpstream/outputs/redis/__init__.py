"""Redis Streams as an output: every message of every station, for gateways and workers."""
