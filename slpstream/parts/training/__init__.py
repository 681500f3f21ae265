"""Training sets: games as rows of fixed types, one row a frame, in shards that are read in windows (extra `analysis`).

- `columns` has the columns of a row, and the event and field that each comes from
- `cli_export` is the export, and `cli_folder` prepares its folder
- `rows` makes the rows of a whole game, `live` those of a game that is being played; both give the same rows
- `slippi_ai` has the rows and files of slippi-ai's training sets
- `shards` writes games into shards, and `windows` reads them; `windows` needs nothing but numpy and pyarrow
- `parts` has the lists and the index of the shards, and `names` the names of all of these files
"""
