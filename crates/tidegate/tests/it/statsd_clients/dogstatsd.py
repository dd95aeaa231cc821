"""Sends every type that PyPI datadog has: dogstatsd.py PORT SOCKET WAY..."""

import itertools
import sys

import datadog.dogstatsd.base
from datadog.dogstatsd.base import DogStatsd

# Of every two samples exactly the first is sent.
datadog.dogstatsd.base.random = itertools.cycle([0.25, 0.75]).__next__
TIME = 1_700_000_000


def send(client, rate):
    for _ in range(80):
        client.increment("hits")
    client.count("hits", 15)
    client.count_with_timestamp("hits", 5, TIME)
    for _ in range(10):
        client.decrement("hits")
    for _ in range(100):
        client.increment("sampled", sample_rate=rate)
    client.gauge("level", 10)
    client.gauge("level", 12)
    client.gauge("below", -4)
    client.gauge_with_timestamp("dated", 3, TIME)
    for number in range(1, 11):
        client.timing("took", number)
        client.histogram("size", number)
        client.distribution("spread", number)
    for _ in range(10):
        client.timing("took_sampled", 8, sample_rate=rate)
    for user in range(10):
        client.set("users", f"u{user}")
        client.set("users", f"u{user}")
    client.increment("tagged", 5, tags=["team:a", "env:prod", "canary"])
    client.event(
        "Köln: ü|🌊",
        "Flut\nund|Ebbe 🌊",
        alert_type="error",
        aggregation_key="k",
        source_type_name="s",
        date_happened=TIME,
        priority="low",
        tags=["a:1", "b"],
        hostname="h",
    )
    client.service_check(
        "db.up",
        DogStatsd.CRITICAL,
        tags=["a:1", "b"],
        timestamp=TIME,
        hostname="h",
        message="gone\naway|far",
    )
    client.increment("done")


port, socket = int(sys.argv[1]), sys.argv[2]
udp = {"host": "127.0.0.1", "port": port}
sender = {"container_id": "abc", "cardinality": "low"}
packed = {"disable_aggregation": False, "max_metric_samples_per_context": 64}
ways = {
    "udp": udp,
    "udp6": {"host": "::1", "port": port},
    # Waits while the socket is full, instead of giving up what finds no room at once.
    "unixgram": {"socket_path": socket, "socket_timeout": 20},
    "sender": {**udp, **sender},
    "buffered": {**udp, "disable_buffering": False},
    "packed": {**udp, **sender, **packed, "disable_buffering": False},
}
for way in sys.argv[3:]:
    client = DogStatsd(namespace=way, **ways[way])
    # What was added up is sampled behind that, and then there is no rate with a known sum.
    send(client, 1 if way == "packed" else 0.5)
    client.flush()
    client.stop()
