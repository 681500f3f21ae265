"""Services of the operating system: safe file access, logging, metrics, systemd, staggered timers."""
