"""Sets and games as parts of a video: a stream's recording, or what YouTube keeps of it. Pure."""
