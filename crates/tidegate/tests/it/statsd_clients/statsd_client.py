"""Sends every type that PyPI statsd has, on every way it has: statsd_client.py PORT SOCKET"""

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


port, socket = int(sys.argv[1]), sys.argv[2]
for client in [
    statsd.StatsClient("127.0.0.1", port, prefix="udp"),
    statsd.StatsClient("::1", port, prefix="udp6", ipv6=True),
    statsd.TCPStatsClient("127.0.0.1", port, prefix="tcp"),
    statsd.TCPStatsClient("::1", port, prefix="tcp6", ipv6=True),
    statsd.client.stream.UnixSocketStatsClient(socket, prefix="stream"),
]:
    send(client)
    client.close()
for client in [
    statsd.StatsClient("127.0.0.1", port, prefix="udp_packed"),
    statsd.TCPStatsClient("127.0.0.1", port, prefix="tcp_packed"),
]:
    with client.pipeline() as pipeline:
        send(pipeline)
    client.close()
