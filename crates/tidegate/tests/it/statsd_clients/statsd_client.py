"""Sends every type that PyPI statsd has: statsd_client.py PORT SOCKET WAY..."""

import datetime
import itertools
import random
import sys

import statsd
import statsd.client.stream

# Of every two samples exactly the first is sent.
random.random = itertools.cycle([0.25, 0.75]).__next__


def send(client):
    for _ in range(80):
        client.incr("hits")
    client.incr("hits", 20)
    for _ in range(10):
        client.decr("hits")
    for _ in range(100):
        client.incr("sampled", rate=0.5)
    client.gauge("level", 10)
    client.gauge("level", 5, delta=True)
    client.gauge("level", -3, delta=True)
    client.gauge("below", -4)
    for took in range(1, 10):
        client.timing("took", took)
    client.timing("took", datetime.timedelta(milliseconds=10))
    for _ in range(10):
        client.timing("took_sampled", 8, rate=0.5)
    for user in range(10):
        client.set("users", f"u{user}")
        client.set("users", f"u{user}")
    client.incr("done")


def connect(way):
    if way == "stream":
        return statsd.client.stream.UnixSocketStatsClient(socket, prefix=way)
    kind = statsd.TCPStatsClient if way.startswith("tcp") else statsd.StatsClient
    ipv6 = way.endswith("6")
    return kind("::1" if ipv6 else "127.0.0.1", port, prefix=way, ipv6=ipv6)


port, socket = int(sys.argv[1]), sys.argv[2]
for way in sys.argv[3:]:
    client = connect(way)
    if way.endswith("_packed"):
        with client.pipeline() as pipeline:
            send(pipeline)
    else:
        send(client)
    client.close()
