"""DuckDB on the same file: the lines as a one-column table, cut by a regular expression."""

import os
import sys

import duckdb

database = duckdb.connect(os.path.join(sys.argv[2], "duck.db"), config={"threads": 1})
database.execute(
    r"""
    CREATE TABLE reads AS
    SELECT field.path AS path, field.minute AS minute, count(*) AS count
    FROM (
        SELECT regexp_extract(
            line, '^\S+ \S+ \S+ \[([^\]]{17})[^\]]*\] "\S+ ([^ ?"]+)', ['minute', 'path']
        ) AS field
        FROM read_csv(?, columns = {'line': 'VARCHAR'}, delim = '\0', quote = '', escape = '',
                      header = false, auto_detect = false)
    )
    GROUP BY ALL
    """,
    [sys.argv[1]],
)
print(database.execute("SELECT sum(count) FROM reads").fetchone()[0])
