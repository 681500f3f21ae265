"""The replay log, `.slplog`: a replay packed losslessly into a small file that can be read from any frame.

`docs/reference/replay_log.md` documents the format. `writer` and `reader` convert between a replay and its log, and
`container` has the headers, the index and the checksums of its blocks. The payload of a block is coded by `frames`
(Slippi frames as columns of prediction errors, with `plan`, `predict`, `rows` and `byte_planes`), `inputs` (the inputs
of other games, with `pads`) or `stripes` (lists of codes); `payloads` selects the decoder, and `bits` has the integer
codings. `compare` finds the first difference of two replays, and `hash_chain` that of two logs of messages. Except for
`open_log`, all modules are sans-IO.
"""
