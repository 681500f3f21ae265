"""The families of tables in the index. Each module contains the tables of one family, their migrations, and their SQL.

The `MIGRATIONS` of a family map a version of the database to the statements that you need to get to it from the version
before. They are put together in `slpstream.store.schema`.
"""
