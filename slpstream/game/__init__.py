"""One game. This package turns its bytes into log messages, and reads its log back from the file."""
