"""Sets and games as parts of a video: the recording of a stream, or its copy on YouTube. Pure."""
