"""The optional capabilities of slpstream. Each folder is one part. If you want to write one, start with `interface`."""
