"""The visual editor of scenes, a view of the dashboard at `#editor`."""
