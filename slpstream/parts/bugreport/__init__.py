"""The command `bugreport`, which collects the information for a bug report in one file, without secrets."""
