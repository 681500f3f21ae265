"""The optional capabilities of slpstream. Each folder is one part; `interface` defines what a part consists of."""
