"""Training sets: games as rows of fixed types, one row a frame, in shards that are read in windows (extra `analysis`).

- `columns` says what is in a row, and from which event and field it comes
- `rows` makes the rows of a whole game, `live` those of a game that is being played; both give the same rows
- `slippi_ai` has the rows and files of slippi-ai's training sets
- `shards` writes games into shards, and `windows` reads them; `windows` needs nothing but numpy and pyarrow
"""
