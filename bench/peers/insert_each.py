"""The naive service: it inserts one row, and commits it, for each event."""

import os
import sqlite3
import sys

from logbunker import LINE

database = sqlite3.connect(os.path.join(sys.argv[2], "each.db"), isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("CREATE TABLE reads (path TEXT, time TEXT)")
with open(sys.argv[1], "rb") as log:
    for line in log:
        found = LINE.match(line)
        if found is not None:
            row = (found[6].decode(), found[4].decode())
            database.execute("INSERT INTO reads VALUES (?, ?)", row)
print(database.execute("SELECT count(*) FROM reads").fetchone()[0])
