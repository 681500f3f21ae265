"""The Slippi format: a reader, whole games as columns, a writer, and the names of ids. Nothing in here does I/O."""
