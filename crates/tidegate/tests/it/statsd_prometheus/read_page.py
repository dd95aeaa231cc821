"""Reads a page for Prometheus on stdin with the parser of prometheus-client; prints it as JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as text

parse = {"text": text, "open": open_metrics}[sys.argv[1]]
families = {}
for family in parse(sys.stdin.buffer.read().decode("utf-8")):
    # The parser leaves out what each counter's samples end in.
    name = family.name + "_total" if family.type == "counter" else family.name
    if name in families:
        sys.exit(f"the family {name} is there twice")
    samples = [[s.name, s.labels, s.value] for s in family.samples]
    families[name] = {"type": family.type, "help": family.documentation, "samples": samples}
json.dump(families, sys.stdout)
