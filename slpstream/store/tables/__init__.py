"""The families of tables in the index. Each module contains the tables of one family, their migrations, and their SQL.

The `MIGRATIONS` of a family map a version of the database to the statements that you need to get to it from the version
before. They are put together in `slpstream.store.schema`.

The history of the schema is one list for all tables, because databases of users must still open. If only a part reads
or fills a table, its SQL for that is in the part, which gets the database from `GameIndex.read` and `GameIndex.keep`.
"""
