"""The replay log, `.slplog`. It is a replay that was packed losslessly into a small file, and you can read it from any
frame.

The format is documented in `docs/reference/replay_log.md`. `writer` and `reader` convert between a replay and its log,
and `container` contains the headers, the index and the checksums of its blocks. There are several ways to code the
payload of a block: `frames` (Slippi frames as columns of prediction errors, with `plan`, `predict`, `rows` and
`byte_planes`), `inputs` (the inputs of other games, with `pads`) or `stripes` (lists of codes). `payloads` selects the
right decoder, and `bits` contains the integer codings. If you want to find the first difference, use `compare` for two
replays, and `hash_chain` for two logs of messages. None of these modules does I/O, except for `open_log`.
"""
