"""What the operating system provides: safe file access, logging, metrics, systemd, staggered timers."""
