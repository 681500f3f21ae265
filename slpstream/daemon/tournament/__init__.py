"""The tournament desk of a daemon: each part is a module, and is started only when it is configured."""
