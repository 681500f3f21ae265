"""The Slippi format: reader, whole games as columns, writer, and the names of what is in Melee. Sans-IO."""
