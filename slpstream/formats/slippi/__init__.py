"""The Slippi format: container, commands, framing, decoder, assembler, reader, writer, names. Sans-IO."""
