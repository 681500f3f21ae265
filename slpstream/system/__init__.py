"""Everything that we need from the operating system: safe access to files, logging, metrics, systemd and staggered
timers.
"""
