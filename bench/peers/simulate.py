"""Hit ratios of published eviction policies on a trace, by libCacheSim.

Arguments: a file of keys (little-endian 64-bit integers), then numbers of entries.
Prints one JSON object a number of entries: the hit ratio of each policy in percent.
Every entry has size 1, every policy its published defaults.
"""

import json
import sys

import libcachesim
import numpy

POLICIES = {
    "LRU": libcachesim.LRU,
    "W-TinyLFU": libcachesim.WTinyLFU,
    "S3-FIFO": libcachesim.S3FIFO,
}


def hit_percent(policy, entries: int, keys: list[int]) -> float:
    cache = policy(cache_size=entries)
    request = libcachesim.Request()
    request.obj_size = 1
    hits = 0
    for key in keys:
        request.obj_id = key
        hits += cache.get(request)
    return 100 * hits / len(keys)


def main() -> None:
    keys = numpy.fromfile(sys.argv[1], dtype="<u8").tolist()
    for entries in map(int, sys.argv[2:]):
        figures = {name: hit_percent(policy, entries, keys) for name, policy in POLICIES.items()}
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
