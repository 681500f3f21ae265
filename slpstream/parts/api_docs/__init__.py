"""The reference of the API as a page, `/docs`."""
