"""Training sets, which contain games as rows with fixed types. There is one row per frame, and they are stored in
shards from which you can read windows (extra `analysis`).

- `columns` has the columns of a row, with the event and field of each
- `rows` makes the rows of a whole game, `live` the same rows during a running game
- `slippi_ai` has the rows and files of slippi-ai's training sets
- `shards` writes games into shards, and `windows` reads them; `windows` needs nothing but numpy and pyarrow
- `parts` writes the lists and the index of the shards, and `names` has the names of all of these files
"""
