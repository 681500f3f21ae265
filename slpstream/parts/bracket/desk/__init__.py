"""The desk of a bracket makes sure that the sets of the bracket and the sets that are played on the stations agree.

- `desk` connects the parts below and runs them
- `intake` makes entries from the sets that are played, `matcher` finds their sets of the bracket
- `entries` is the queue of entries, in memory and on disk
- `reader` polls the bracket, `known_bracket` is its copy of the bracket, `foreign_changes` lists sets that others
  changed
- `reporter` sends the reports that are due
- `changer` assigns, starts and calls sets, `chores` selects which
- `details` gives the stations the round, event and length of their sets
- `decisions` are those of people
- `link` is the state of the connection
- `policy` is the configured behaviour
"""
