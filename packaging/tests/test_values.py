"""Claims about wrong values: each is refused, with the key that is wrong."""

import json

import pytest
import yaml
from conftest import CHART

OPEN_ADMIN = "config=[listen]\nadmin = '0.0.0.0:8081'"
WRONG = {
    "admin.token=short": "admin.token: it must have at least 16 characters of ASCII",
    "admin.token= 0123456789abcdef": "without blanks",
    "admin.token=ΩΩΩΩΩΩΩΩΩΩΩΩΩΩΩΩ": "characters of ASCII",
    "admin.tokenKey=..": "at '/admin/tokenKey'",
    "replicas=many": "at '/replicas'",
    "service.port=70000": "at '/service/port'",
    "service.type=Cluster": "at '/service/type'",
    "service.externalTrafficPolicy=local": "at '/service/externalTrafficPolicy'",
    "service.externalTrafficPolicy=Local": "service.type is ClusterIP, which takes none",
    "service.loadBalancerClass=a": "service.type is ClusterIP: leave it out, or set LoadBalancer",
    "service.loadBalancerSourceRanges=10.0.0.0/8": "at '/service/loadBalancerSourceRanges'",
    "ingress.hosts=[1]": "at '/ingress/hosts'",
    "ingress.path=api": "at '/ingress/path'",
    "ingress.path=/a//b": "at '/ingress/path'",
    "ingress.path=/a/../b": "at '/ingress/path'",
    "ingress.path=/{*rest}": "at '/ingress/path'",
    "probes.readiness=alive": "at '/probes/readiness'",
    "sharedMemory.size=1.75G B": "sharedMemory.size: 1.75G B is no size",
    "sharedMemory.size=1.75g": "such as 1536Mi",
    "sharedMemory.size=1610612736": 'write a size in quotes, such as "1536Mi"',
    "sharedMemory.size=0Gi": "sharedMemory.size: 0Gi is no size",
    "sharedMemory.size=1024Mi": "resources.limits.memory: 1Gi is not more than sharedMemory.size",
    "data.size=big": "data.size: big is no size",
    "data.size=1ki": "data.size: 1ki is no size",
    "data.size=": "data.size: it is empty",
    "data.storageClass=a..b": "at '/data/storageClass'",
    "resources.limits.memory=512Mi": "resources.requests.memory: 1Gi is more than",
    "resources.requests.memory=2Gi": "is more than resources.limits.memory, 1Gi: set both",
    "resources.limits.cpu=100m": "resources.requests.cpu: 500m is more than",
    "resources.limits.memory=2GB": "at '/resources/limits/memory'",
    "resources.limits.mem=2Gi": "at '/resources/limits'",
    "podDisruptionBudget.maxUnavailable=200%": "at '/podDisruptionBudget/maxUnavailable'",
    "serviceMonitor.interval=0s": "at '/serviceMonitor/interval'",
    "autoscaling.metric.averageValue=0": "at '/autoscaling/metric/averageValue'",
    "nameOverride=news-": "at '/nameOverride'",
    "fullnameOverride=Bad_Name": "at '/fullnameOverride'",
    "fullnameOverride=news.prod": "at '/fullnameOverride'",
    "fullnameOverride=1news": "at '/fullnameOverride'",
    f"fullnameOverride={'n' * 53}": "at '/fullnameOverride'",
    "admin.existingSecret=Bad_Name": "at '/admin/existingSecret'",
    "serviceAccountName=-a": "at '/serviceAccountName'",
    "image.repository=a b": "at '/image/repository'",
    "image.repository=reg/x@sha256:aa": "at '/image/repository'",
    "image.repository=reg/x:1.2": "at '/image/repository'",
    "image.repository=Reg/TideGate": "at '/image/repository'",
    "image.repository=https://reg/x": "at '/image/repository'",
    "image.digest=sha256:12": "at '/image/digest'",
    "imagePullSecrets=regcred": "at '/imagePullSecrets'",
    "podLabels.team=a b": "at '/podLabels/team'",
    "security.user=0": "at '/security/user'",
    "topologySpread.host=Always": "at '/topologySpread/host'",
    "config=": "at '/config'",
    "config=listen = [": "config: this is not TOML",
    "config=[listen]\npublic = '127.0.0.1:8080'": "listen.public is 127.0.0.1:8080",
    "config=[listen]\ndrain_timeout = '1m'": "stop.drainSeconds",
    "config=[listen]\nadmin_token = 'x'": "admin.existingSecret",
    "config=listen = 1": "config: listen is no table",
    "config=[listen]\npublic = '0.0.0.0:http'": "0.0.0.0:http, which is no address",
    "config=[listen]\npublic = '0.0.0.0:0'": "listen.public is 0.0.0.0:0, which is no address",
    "config=[listen]\npublic = '0.0.0.0:65536'": "write IP:PORT, such as 0.0.0.0:8080",
    "config=[listen]\npublic = 8080": "listen.public is 8080, which is no address",
    "config=[listen]\npublic = '[0:0::1]:80'": "listen.public is [0:0::1]:80, which no other pod",
    "config=[listen]\npublic = '10.1.2.3:80'": "listen.public is 10.1.2.3:80, which no other pod",
    "config=[listen]\npublic = '[::ffff:127.0.0.1]:80'": "which no other pod reaches",
    "config=[listen]\nadmin = 'localhost:8081'": "listen.admin is localhost:8081, which is no",
    "config=[listen]\nadmin = '127.0.0.1.nip.io:8081'": "write IP:PORT, such as 127.0.0.1:8081",
    "config=[listen]\nadmin = '127.0.0.1:8080'": "port: 8080 is the port of listen.admin, too",
    "config=[listen]\npublic = '[::]:8081'": "port: 8081 is the port of listen.admin, too",
    "port=8081": "port: 8081 is the port of listen.admin, too",
    "config=[[upstream]]\nenvironment = { A = '${credential:a}' }": "credentials.existingSecret",
    OPEN_ADMIN: "admin.token: listen.admin is 0.0.0.0:8081",
    "serviceMonitor.enabled=true": "serviceMonitor.enabled: Prometheus does not reach",
    "autoscaling.metric.name=x": "autoscaling.metric: name and averageValue",
}


SECRETS = {
    "sink.url": [
        "[[sink]]\nurl = 'postgres://me:word@db/x'",
        "[[sink]]\nurl = 'postgres://:$word@db/x'",
        "[[sink]]\nurl = 'postgres://me:word@db/${credential:x}'",
        "[[sink]]\nurl = 'postgres://me:w/rd@db/x'",
        '[[sink]]\nurl = "postgres://me:w\'rd@db/x"',
        "[[sink]]\nurl = 'postgres://me@corp:word@db/x'",
        '[[sink]]\nurl = "postgres://me\\u003aword\\u0040db/x"',
        '[[sink]]\nurl = """\npostgres://me:\\\n  word@db/x"""',
    ],
    "sink.headers.Authorization": ["[[sink]]\nheaders = { Authorization = 'Token x' }"],
    "statsd.backend.headers.X-Api-Key": [
        '[[statsd.backend]]\nheaders = { X-Api-Key = """\nx""", Accept = \'a/b\' }'
    ],
    "journal.user_key": ["journal = { user_key = 'word' }"],
    "upstream.environment.DB_PASSWORD": [
        "[[upstream]]\nenvironment = { DB_PASSWORD = 'word', HF_HOME = '/tmp' }"
    ],
}
STATSD = {"name": "statsd", "port": 8125, "protocol": "UDP"}
PORTS = {
    "name admin": [{"name": "admin", "port": 9000}],
    "name http": [{"name": "http", "port": 9000}],
    "TCP 8081": [{"name": "other", "port": 8081}],
    "TCP 8080": [{"name": "other", "port": 8080, "protocol": "TCP"}],
    "TCP 80": [{"name": "other", "port": 80}],
    "name statsd": [STATSD, STATSD | {"port": 8126}],
    "UDP 8125": [STATSD, STATSD | {"name": "again"}],
    "'8125'": [{"name": "8125", "port": 8125}],
    "'a--b'": [{"name": "a--b", "port": 8125}],
}
TWICE = {
    "podLabels": {"app.kubernetes.io/name": "a"},
    "podAnnotations": {"checksum/config": "a"},
    "serviceMonitor.labels": {"helm.sh/chart": "a"},
    "prometheusRule.labels": {"app.kubernetes.io/instance": "a"},
    "grafanaDashboard.labels": {"app.kubernetes.io/version": "a"},
    "extraEnv": [{"name": "PORT", "value": "9"}],
    "extraVolumes": [{"name": "tmp", "emptyDir": {}}],
    "initContainers": [{"name": "tidegate", "image": "a"}],
}


@pytest.mark.parametrize("told", PORTS)
def test_an_extra_port_takes_no_name_or_number_of_another(run_helm, told) -> None:
    setting = f"service.extraPorts={json.dumps(PORTS[told])}"
    run = run_helm("template", "news", CHART, "--set-json", setting)
    assert run.returncode != 0
    assert told in run.stderr and "extraPorts" in run.stderr


def test_an_extra_port_may_have_a_number_of_another_protocol(render) -> None:
    ports = [STATSD, STATSD | {"name": "statsd-tcp", "protocol": "TCP"}]
    assert render("--set-json", f"service.extraPorts={json.dumps(ports)}")


@pytest.mark.parametrize("key", TWICE)
def test_what_the_chart_sets_cannot_be_set_again(run_helm, key) -> None:
    run = run_helm("template", "news", CHART, "--set-json", f"{key}={json.dumps(TWICE[key])}")
    assert run.returncode != 0
    assert f"{key}: " in run.stderr and "the chart" in run.stderr


def test_no_name_that_the_chart_gives_can_be_given_again(run_helm, render) -> None:
    # It has a token and shared memory, and names nothing itself.
    values = ["--values", CHART.parents[1] / "tests/values/workers.yaml"]
    (deployment,) = [one for one in render(*values) if one["kind"] == "Deployment"]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    given = {"extraEnv": container["env"], "extraVolumes": pod["volumes"]}
    given["initContainers"] = pod["containers"]
    for key, entries in given.items():
        assert entries
        for entry in entries:
            again = {"name": entry["name"]} | ({"image": "a"} if key == "initContainers" else {})
            setting = f"{key}={json.dumps([again])}"
            run = run_helm("template", "news", CHART, *values, "--set-json", setting)
            assert run.returncode != 0, setting
            assert f"{key}: {entry['name']} is there already, by the chart" in run.stderr


def test_a_password_in_a_file_of_its_own_needs_no_secret(render) -> None:
    sink = """
    url = "postgres://me:${credential:database}@db/x"
    headers = { authorization = "Token ${credential:influx}" }
    """
    words = ["--set-literal", f"config=[[sink]]{sink}"]
    (deployment,) = [
        one
        for one in render(*words, "--set", "credentials.existingSecret=news")
        if one["kind"] == "Deployment"
    ]
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    (mount,) = [one for one in container["volumeMounts"] if one["name"] == "credentials"]
    assert {"name": "CREDENTIALS_DIRECTORY", "value": mount["mountPath"]} in container["env"]
    assert "news" in [one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one]


def test_credentials_may_be_in_a_directory_of_ones_own(render) -> None:
    config = "config=[[sink]]\nurl = 'postgres://me:${credential:database}@db/x'"
    variable = [{"name": "CREDENTIALS_DIRECTORY", "value": "/mnt/secrets"}]
    assert render("--set-literal", config, "--set-json", f"extraEnv={json.dumps(variable)}")


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_in_the_configuration_needs_a_secret_however_it_is_written(
    run_helm, render, key
) -> None:
    for config in SECRETS[key]:
        words = ["--set-literal", f"config={config}"]
        run = run_helm("template", "news", CHART, *words)
        assert f"configIsSecret: config has a password or another secret at {key}: " in run.stderr
        assert "word" not in run.stderr.replace("password", "")
        assert render(*words, "--set", "configIsSecret=true,credentials.existingSecret=news")


def test_what_only_looks_like_a_secret_needs_none(render) -> None:
    plain = [
        "[[upstream]]\nservers = ['http://app:80', '[::1]:80']\n[[route]]\npath = '/@:x'",
        "[[upstream]]\nenvironment = { HF_HOME = '/tmp', OMP_NUM_THREADS = '1' }",
        "[[sink]]\nurl = 'postgres://me@db:5432/x'",
        "[journal]\nuser_key = ''",
    ]
    for config in plain:
        assert render("--set-literal", f"config={config}")


def test_a_short_token_is_not_repeated(run_helm) -> None:
    run = run_helm("template", "news", CHART, "--set", "admin.token=sesame")
    assert run.returncode != 0 and "sesame" not in run.stdout + run.stderr


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
    scaled = ["--set", "autoscaling.enabled=true"]
    run = run_helm("template", "news", CHART, *scaled, "--set", "autoscaling.minReplicas=9")
    assert "autoscaling.minReplicas: it is more than" in run.stderr
    run = run_helm("template", "news", CHART, *scaled, "--set", "resources.requests.cpu=null")
    assert "resources.requests.cpu: it is not set" in run.stderr
    two = ["--set", "port=9001", "--set-literal", "config=[listen]\npublic = '0.0.0.0:9000'"]
    run = run_helm("template", "news", CHART, *two)
    assert "port: it is 9001, and listen.public in config is 0.0.0.0:9000" in run.stderr
    run = run_helm("template", "news", CHART, "--set", "serviceMonitor.statsd=true")
    assert "serviceMonitor.statsd: config has no [statsd]" in run.stderr


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


LISTS = {
    "extraEnv": [
        ([{"name": "DEBUG", "value": True}], "at '/extraEnv/0/value'"),
        ([{"value": "x"}], "at '/extraEnv/0'"),
        ([{"name": "A=B"}], "at '/extraEnv/0/name'"),
        ([{"name": "A", "value": "x", "valueFrom": {}}], "at '/extraEnv/0'"),
        ([{"name": "A"}, {"name": "A"}], "extraEnv: A is there already"),
    ],
    "extraVolumes": [([{"name": "a"}, {"name": "a"}], "extraVolumes: a is there already")],
    "extraContainers": [([{"name": "tidegate", "image": "a"}], "tidegate is there already")],
    "extraVolumeMounts": [
        ([{"name": "data", "mountPath": "/tmp/"}], "extraVolumeMounts: /tmp is there already"),
        ([{"name": "models", "mountPath": "/m"}], "no volume is called models"),
    ],
    "imagePullSecrets": [(["regcred"], "at '/imagePullSecrets/0'")],
    "extraEnvFrom": [([{"secretref": {"name": "a"}}], "'secretref' not allowed")],
    "tolerations": [([{"keys": "a"}], "'keys' not allowed")],
    "affinity": [({"nodeAfinity": {}}, "'nodeAfinity' not allowed")],
    "networkPolicy.publicFrom": [([{"ipblock": {}}], "'ipblock' not allowed")],
    "autoscaling.behavior": [({"scaledown": {}}, "'scaledown' not allowed")],
    "ingress.hosts": [(["10.0.0.1"], "at '/ingress/hosts/0'"), (["https://a"], "/ingress/hosts/0")],
    "ingress.tls": [([{"hosts": ["NEWS example"]}], "at '/ingress/tls/0/hosts/0'")],
    "ingress.annotations": [({"bad key!": "a"}, "at '/ingress/annotations'")],
    "podLabels": [({"a b": "a"}, "at '/podLabels'")],
    "service.loadBalancerSourceRanges": [
        (["999.1.1.1/99"], "at '/service/loadBalancerSourceRanges/0'"),
        (["10.0.0.0/33"], "at '/service/loadBalancerSourceRanges/0'"),
        (["::1::2/129"], "at '/service/loadBalancerSourceRanges/0'"),
    ],
}


@pytest.mark.parametrize("key", LISTS)
def test_a_wrong_entry_is_named_with_its_place(run_helm, key) -> None:
    for value, place in LISTS[key]:
        run = run_helm("template", "news", CHART, "--set-json", f"{key}={json.dumps(value)}")
        assert run.returncode != 0, value
        assert place in run.stderr, value


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
            if value and isinstance(value, dict) and "properties" in schema["properties"][key]:
                compare(value, schema["properties"][key], f"{path}/{key}")

    compare(yaml.safe_load((CHART / "values.yaml").read_text()), schema, "")
