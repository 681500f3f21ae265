"""The optional capabilities of slpstream. Each folder in here is one part: `interface` says what a part is."""
