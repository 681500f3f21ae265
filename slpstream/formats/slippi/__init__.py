"""The Slippi format: reader, whole games as columns, writer, and the names of ids. Sans-IO."""
