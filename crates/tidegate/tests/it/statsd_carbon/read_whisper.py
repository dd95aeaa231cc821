"""Prints what carbon has stored as JSON: for each name on stdin, times with values.

A file that carbon is creating at this moment has no whole header: it is not stored yet.
"""

import hashlib
import json
import struct
import sys
from pathlib import Path

import whisper

folder = Path(sys.argv[1])
series = {}
for name in sys.stdin.read().splitlines():
    path = folder / name.replace(".", "/")
    if ";" in name:
        # Where carbon puts series with tags (carbon.util.TaggedSeries.encode).
        digest = hashlib.sha256(name.encode()).hexdigest()
        path = folder / "_tagged" / digest[:3] / digest[3:6] / digest
    path = path.with_name(path.name + ".wsp")
    try:
        (start, end, step), values = whisper.fetch(str(path), 0)
    except (FileNotFoundError, whisper.CorruptWhisperFile, struct.error):
        continue
    times = range(start, end, step)
    series[name] = {t: v for t, v in zip(times, values, strict=True) if v is not None}
json.dump(series, sys.stdout)
