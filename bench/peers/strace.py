"""Calls of a trace of strace, by name: the first line of a call, whole or not."""

import re
import sys
from collections import Counter

CALL = re.compile(rb"\d+ +[\d.]+ ([a-z_0-9]+)\(")
calls: Counter[bytes] = Counter()
with open(sys.argv[1], "rb") as trace:
    for line in trace:
        if found := CALL.match(line):
            calls[found.group(1)] += 1
for name, count in calls.items():
    print(name.decode(), count)
