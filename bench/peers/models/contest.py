"""One side of a contest about models: does what it is told on its standard input, a line each.

`run TASK SECONDS` does a task again and again until so much CPU time is used, and answers with the
units done and the CPU time as one JSON object; `write WHAT FILE` writes results, to be compared.
The answers of `bench --evaluate` have the same form.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

Task = Callable[[], int]
"""Does the work once and returns how many units it was."""

Results = Callable[[], bytes]

# Libraries that print must not be taken for an answer.
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def serve(tasks: dict[str, Task], results: dict[str, Results]) -> None:
    answer({})
    for line in sys.stdin:
        word, name, argument = line.split()
        if word == "write":
            Path(argument).write_bytes(results[name]())
            answer({})
            continue
        task, limit = tasks[name], float(argument)
        started, units, used = time.process_time(), 0, 0.0
        while not units or used < limit:
            units += task()
            used = time.process_time() - started
        answer({"units": units, "cpu_seconds": used})


def answer(value: dict[str, float]) -> None:
    print(json.dumps(value), file=ANSWERS, flush=True)
