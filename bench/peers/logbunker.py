"""The Logbunker of Teodor Dima's talk "Use Python to process 12mil events per minute and still keep
it simple", as someone who knows CPython well writes it.

A parser process reads, validates and counts. A multiprocessing.Queue leads to an upserter process
with one transaction a batch, and a binlog of its offsets. `logbunker.pxd` has the types for Cython,
which compiles it as it is."""

import multiprocessing
import os
import re
import sqlite3
import sys
import time

LINE = re.compile(
    rb'(\S+) (\S+) (\S+) \[([^\]]+)\] "(\S+) ([^ ?"]+)\S* [^"]*" (\d{3}) (\d+|-) "[^"]*" "[^"]*"$'
)


def parse(path, queue):
    counts, offset, flushed = {}, 0, time.monotonic()
    find = LINE.match
    with open(path, "rb", buffering=1 << 20) as log:
        for number, line in enumerate(log):
            offset += len(line)
            found = find(line)
            if found is None:
                continue
            key = (found[6], found[4][:17])
            counts[key] = counts.get(key, 0) + 1
            if number & 1023 == 0 and time.monotonic() - flushed >= 1:
                queue.put((offset, counts))
                counts, flushed = {}, time.monotonic()
                time.sleep(0.001)
    queue.put((offset, counts))
    queue.put(None)


def upsert(folder, queue):
    database = sqlite3.connect(os.path.join(folder, "logbunker.db"), isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute(
        "CREATE TABLE reads (path TEXT, minute TEXT, count INTEGER, PRIMARY KEY (path, minute)) "
        "WITHOUT ROWID"
    )
    with open(os.path.join(folder, "binlog"), "ab") as binlog:
        while (batch := queue.get()) is not None:
            offset, counts = batch
            rows = [(p.decode(), m.decode(), count) for (p, m), count in counts.items()]
            database.execute("BEGIN IMMEDIATE")
            database.executemany(
                "INSERT INTO reads VALUES (?, ?, ?) "
                "ON CONFLICT DO UPDATE SET count = count + excluded.count",
                rows,
            )
            database.execute("COMMIT")
            binlog.write(b"%d\n" % offset)
            binlog.flush()
            os.fsync(binlog.fileno())
    print(database.execute("SELECT sum(count) FROM reads").fetchone()[0])


def main(path, folder):
    queue = multiprocessing.Queue(8)
    workers = [
        multiprocessing.Process(target=parse, args=(path, queue)),
        multiprocessing.Process(target=upsert, args=(folder, queue)),
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
