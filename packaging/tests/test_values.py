"""Claims about wrong values: each is refused, with the key that is wrong."""

import json

import pytest
import yaml
from conftest import CHART

OPEN_ADMIN = "config=[listen]\nadmin = '0.0.0.0:8081'"
WRONG = {
    "admin.token=short": "at '/admin/token'",
    "replicas=many": "at '/replicas'",
    "service.port=70000": "at '/service/port'",
    "service.type=Cluster": "at '/service/type'",
    "probes.readiness=alive": "at '/probes/readiness'",
    "sharedMemory.size=1.75G B": "at '/sharedMemory/size'",
    "data.size=big": "at '/data/size'",
    "security.user=0": "at '/security/user'",
    "topologySpread.host=Always": "at '/topologySpread/host'",
    "config=": "at '/config'",
    "config=listen = [": "config: this is not TOML",
    "config=[listen]\npublic = '127.0.0.1:8080'": "listen.public is 127.0.0.1:8080",
    "config=[listen]\ndrain_timeout = '1m'": "stop.drainSeconds",
    "config=[listen]\nadmin_token = 'x'": "admin.existingSecret",
    OPEN_ADMIN: "admin.token: listen.admin is 0.0.0.0:8081",
    "serviceMonitor.enabled=true": "serviceMonitor.enabled: Prometheus does not reach",
    "autoscaling.metric.name=x": "autoscaling.metric: name and averageValue",
    "autoscaling.minReplicas=9": "autoscaling.minReplicas: it is more than",
}


@pytest.mark.parametrize("setting", WRONG)
def test_a_wrong_value_is_named_with_its_key(run_helm, setting) -> None:
    key, value = setting.split("=", 1)
    how = "--set-json" if value.isdigit() or value == "true" else "--set-literal"
    literal = f"{key}={value}"
    run = run_helm("template", "news", CHART, how, literal)
    assert run.returncode != 0
    assert WRONG[setting] in run.stderr


def test_values_that_exclude_each_other_are_named(run_helm) -> None:
    words = ["--set", "admin.token=sixteen-or-more-letters", "--set", "admin.existingSecret=b"]
    run = run_helm("template", "news", CHART, *words)
    assert "admin.existingSecret: admin.token is set, too" in run.stderr
    settings = "admin.token=sixteen-or-more-letters,serviceMonitor.enabled=true"
    words = ["--set-literal", OPEN_ADMIN, "--set", settings]
    run = run_helm("template", "news", CHART, *words)
    assert "networkPolicy.adminFrom: nobody may scrape" in run.stderr


def tables(values: object, path: str = "") -> list[str]:
    """The paths of all tables below these values, but for those whose keys are the user's own."""
    if not isinstance(values, dict):
        return []
    schema = json.loads((CHART / "values.schema.json").read_text())
    for key in path.split("/")[1:]:
        schema = schema["properties"][key]
    if schema.get("additionalProperties") is not False:
        return []
    below = [tables(value, f"{path}/{key}") for key, value in values.items()]
    return [path, *(found for part in below for found in part)]


def test_an_unknown_key_is_refused_at_every_level(run_helm, tmp_path) -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    places = tables(values)
    assert len(places) > 15
    for number, place in enumerate(places):
        table = values
        for key in place.split("/")[1:]:
            table = table[key]
        table[f"misspelt{number}"] = 1
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    run = run_helm("template", "news", CHART, "--values", file)
    assert run.returncode != 0
    for number, place in enumerate(places):
        expected = f"at '{place}': additional properties 'misspelt{number}' not allowed"
        assert expected in run.stderr


def test_values_and_their_schema_have_the_same_keys() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())

    def compare(values: dict, schema: dict, path: str) -> None:
        known = set(schema["properties"]) - {"global"}
        if path != "/resources":
            assert set(values) == known, path
        for key, value in values.items():
            if isinstance(value, dict) and "properties" in schema["properties"][key]:
                compare(value, schema["properties"][key], f"{path}/{key}")

    compare(yaml.safe_load((CHART / "values.yaml").read_text()), schema, "")
