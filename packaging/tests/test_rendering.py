"""Claims about any value: what Kubernetes reads is what was given, whatever characters it has."""

import base64
import json
import random
import re

import pytest
import yaml
from conftest import CHART, Object, misfits

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
# A user id of OpenShift: as a float it would be 1.00066e+09.
LARGE = 1_000_660_000
ODD = {
    "line separator": "# a\u2028evil: 1\n",
    "paragraph separator": "# a\u2029evil: 1\n",
    "next line": "# a\u0085evil: 1\n",
    "next line in a string": "[[upstream]]\nname = 'a\u0085'\n",
    "byte order mark within": "# \ufeff\n",
    "beyond sixteen bits": "# \U0001f600 \U000e0001\n",
    "no character": "# \ufffe\uffff\u0080\u009f\n",
    "indented first line": "  # a\n# b\n",
    "blank first line": "   \n# b\n",
    "empty first lines": "\n\n  # b\n",
    "tabs": "\t# a\t\n",
    "carriage returns": "# a\r\n\r\n# b\r\n",
    "no line feed at the end": "# a",
    "spaces at the end": "# a  \n   ",
    "line feeds at the end": "# a\n\n\n\n",
    "documents": "a = '''\n---\nkind: Secret\n...\n'''\n",
    "quotes": 'a = """\n\\""""\n# \\n \\\\n \' \\\n',
    "templates": '# {{ .Values.admin.token }} {{- fail "x" }}\n',
}


def comments(seed: int) -> str:
    """Lines of comments of any characters that TOML allows."""
    chance = random.Random(seed)
    pools = ["\t \"'\\n#:-{}|>&*!%@`", "\u0080\u0085\u00a0\u2028\u2029\ufeff\ufffd"]
    for first, end in [(0x20, 0x7F), (0x80, 0xD800), (0xE000, 0x110000)]:
        pools.append("".join(chr(chance.randrange(first, end)) for _ in range(300)))
    lines = []
    for _ in range(200):
        text = "".join(chance.choice(chance.choice(pools)) for _ in range(chance.randrange(30)))
        lines.append(" " * chance.randrange(3) + "#" + text)
    return chance.choice(["\n", "\r\n"]).join(lines)


@pytest.fixture(scope="module")
def read_by_helm(run_helm, tmp_path_factory):
    """What Helm's own reader of YAML, which is that of Kubernetes, finds in an object."""
    chart = tmp_path_factory.mktemp("reader")
    (chart / "templates").mkdir()
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: reader\nversion: 1.0.0\n")
    text = 'read: {{ index .Values.data "tidegate.toml" | b64enc }}\n'
    (chart / "templates/read.yaml").write_text(text)

    def read(manifest: str) -> str:
        file = chart / "manifest.yaml"
        file.write_text(manifest)
        run = run_helm("template", "reader", chart, "--values", file)
        assert run.returncode == 0, run.stderr
        return base64.b64decode(yaml.safe_load(run.stdout)["read"]).decode()

    return read


TEXTS = list(ODD.values()) + [comments(seed) for seed in range(12)]
NAMES = list(ODD) + [f"comments {seed}" for seed in range(12)]


@pytest.mark.parametrize("text", TEXTS, ids=NAMES)
def test_the_configuration_is_mounted_byte_by_byte(run_helm, read_by_helm, tmp_path, text) -> None:
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"config": text}))
    words = ["template", "news", CHART, "--values", file, "--show-only", "templates/config.yaml"]
    run = run_helm(*words)
    assert run.returncode == 0, run.stderr
    (found,) = yaml.safe_load_all(run.stdout)
    assert found["data"] == {"tidegate.toml": text}
    assert read_by_helm(run.stdout) == text
    assert set(found) == {"apiVersion", "kind", "metadata", "data"}


def test_a_configuration_keeps_its_lines_in_what_helm_prints(run_helm) -> None:
    words = ["template", "news", CHART, "--show-only", "templates/config.yaml"]
    lines = [line.strip() for line in run_helm(*words).stdout.splitlines()]
    assert 'to   = \\"upstream:app\\"\\n\\' in lines


@pytest.mark.parametrize("release", ["123", "true", "null", "1e3", "0x1f", "news.prod", "a" * 53])
def test_any_name_of_a_release_makes_objects_that_fit(run_helm, release) -> None:
    switches = "prometheusRule.enabled=true,grafanaDashboard.enabled=true,autoscaling.enabled=true"
    run = run_helm("template", release, CHART, "--set", switches)
    assert run.returncode == 0, run.stderr
    objects = [one for one in yaml.safe_load_all(run.stdout) if one]
    assert misfits(objects) == []
    for one in objects:
        assert one["metadata"]["labels"]["app.kubernetes.io/instance"] == release
        # A service has the strictest names: they begin with a letter, and have no dot.
        assert re.fullmatch(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?", one["metadata"]["name"])


def test_texts_that_look_like_numbers_stay_texts(render) -> None:
    texts = [
        *("nameOverride=true", "fullnameOverride=null", "image.repository=1", "image.tag=2"),
        *("admin.tokenKey=123", "admin.existingSecret=456", "service.annotations.a=7"),
        *("serviceAccountName=8", "priorityClassName=9", "podLabels.a=1", "podAnnotations.a=2"),
        *("nodeSelector.a=3", "data.storageClass=4", "data.size=30000000000"),
        *("sharedMemory.size=500000000", "serviceMonitor.labels.a=5", "prometheusRule.labels.a=6"),
        *("autoscaling.metric.name=7", "autoscaling.metric.averageValue=8"),
        "config=[listen]\nadmin = '0.0.0.0:8081'",
    ]
    switches = ["data.persistent", "serviceMonitor.enabled", "prometheusRule.enabled"]
    switches += ["autoscaling.enabled", "grafanaDashboard.enabled"]
    words = [word for text in texts for word in ("--set-string", text)]
    words += [word for switch in switches for word in ("--set", f"{switch}=true")]
    words += ["--set-json", 'networkPolicy.adminFrom=[{"podSelector":{}}]']
    ports = [{"name": "1e3", "port": 9000}, {"name": "true", "port": 9001}]
    words += ["--set-json", f"service.extraPorts={json.dumps(ports)}"]
    objects = render(*words)
    assert {"StatefulSet", "ServiceMonitor"} < {one["kind"] for one in objects}
    assert misfits(objects) == []
    assert "null" in {one["metadata"]["name"] for one in objects}


def test_a_secret_that_looks_like_a_number_stays_a_text(render) -> None:
    texts = ["admin.token=1234567890123456", "admin.tokenKey=123", "fullnameOverride=null"]
    words = [word for text in texts for word in ("--set-string", text)]
    objects = render(*words, "--set", "configIsSecret=true")
    assert misfits(objects) == []
    (token,) = [one["stringData"] for one in objects if "123" in one.get("stringData", {})]
    assert token == {"123": "1234567890123456"}


def integers(schema: Object, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], int]]:
    """The path of each value that is a whole number, with its greatest."""
    found = []
    for key, part in schema.get("properties", {}).items():
        for one in [part, *part.get("anyOf", [])]:
            if one.get("type") == "integer":
                found.append(((*path, key), one["maximum"]))
        found += integers(part, (*path, key))
    return found


def numbers(value: object) -> list[object]:
    if isinstance(value, dict):
        return [one for part in value.values() for one in numbers(part)]
    if isinstance(value, list):
        return [one for part in value for one in numbers(part)]
    return [value]


@pytest.mark.parametrize("scaled", [False, True], ids=["replicas", "autoscaling"])
def test_large_numbers_of_a_file_stay_whole(render, tmp_path, scaled) -> None:
    values: Object = {"autoscaling": {"enabled": scaled}}
    given = {}
    for number, (path, greatest) in enumerate(integers(SCHEMA)):
        table = values
        for key in path[:-1]:
            table = table.setdefault(key, {})
        given[path] = table[path[-1]] = min(greatest - 1000, LARGE) + number
    extra = {"name": "statsd", "port": 64_000, "protocol": "UDP"}
    values["service"]["extraPorts"] = [extra]
    security = {"runAsUser": LARGE}
    values["initContainers"] = [{"name": "a", "image": "a", "securityContext": security}]
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    objects = render("--values", file)
    assert misfits(objects) == []
    found = {str(one) for one in numbers(objects)}
    assert not [one for one in found if re.fullmatch(r"[0-9.]+e\+[0-9]+|[0-9]+\.0", one)]
    # Sums and quotients of these are rendered, or the other way to scale.
    unseen = {"startupSeconds", "marginSeconds"}
    unseen |= {"replicas"} if scaled else {"minReplicas", "maxReplicas", "cpuPercent"}
    shown = {path: number for path, number in given.items() if path[-1] not in unseen}
    assert len(shown) > 10
    assert [path for path, number in shown.items() if str(number) not in found] == []
    assert {"64000", str(LARGE)} <= found


def paths(values: Object, schema: Object, path: str = "") -> list[str]:
    """Every table and value; what is below a table of the user's own keys is not the chart's."""
    found = []
    for key, value in values.items():
        found.append(path + key)
        part = schema["properties"].get(key, {})
        if isinstance(value, dict) and "properties" in part and key != "resources":
            found += paths(value, part, f"{path}{key}.")
    return found


@pytest.mark.parametrize("path", paths(VALUES, SCHEMA))
def test_no_value_at_all_is_refused_or_means_none(run_helm, path) -> None:
    switches = "autoscaling.enabled=true,prometheusRule.enabled=true,grafanaDashboard.enabled=true"
    if path.startswith(("autoscaling", "resources")):
        switches = "prometheusRule.enabled=true"
    run = run_helm("template", "news", CHART, "--set", f"{switches},{path}=null")
    if run.returncode == 0:
        objects = [one for one in yaml.safe_load_all(run.stdout) if one]
        assert misfits(objects) == []
        assert None not in numbers(objects)
    else:
        *above, key = path.split(".")
        place = "/".join(["", *above])
        assert f"at '{place}': missing property '{key}'" in run.stderr


@pytest.mark.parametrize("path", ["replicas", "image", "service.port", "probes.periodSeconds"])
def test_a_value_that_is_needed_cannot_be_left_out(run_helm, path) -> None:
    run = run_helm("template", "news", CHART, "--set", f"{path}=null")
    assert f"missing property '{path.split('.')[-1]}'" in run.stderr
