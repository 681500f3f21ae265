"""The replays of a set as a zip for other programs: names that the community uses, and a `context.json` about the set.

`names` makes the names of files, `context` the document, `handed_set` decides the contents of the zip, and `archive`
writes it. The first three are pure.
"""
