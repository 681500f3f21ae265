"""The families of tables in the index. Each module has the tables of one family, their migrations and their SQL.

`MIGRATIONS` of a family maps a version of the database to the statements that lead to it from the version before.
`slpstream.store.schema` puts the families together.
"""
