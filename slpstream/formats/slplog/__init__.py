"""The replay log: a replay as a small file that can be read at any frame, and that proves itself.

`bits` has the two tools (a memory stream and a bit packer), `pads` the coding of inputs in bits, `plan`, `predict` and
`frames` the coding of whole Slippi frames as columns of what the prediction missed, `container` the blocks of a
`.slplog`, `writer` and `reader` the file, `compare` the assert mode. Nothing here opens a file: bytes come in and go
out. `deploy/docs/replay_log.md` has the format.
"""
