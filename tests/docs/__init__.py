"""The documentation: its site, links, pictures and commands."""
