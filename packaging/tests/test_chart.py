"""Claims about the chart: what it makes fits Kubernetes, runs, and loses nothing."""

import json
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml
from conftest import CHART, ROOT, VALUES, Object, misfits

CASES = pytest.mark.parametrize("values", VALUES, ids=[values.stem for values in VALUES])
HERE = Path(__file__).parent / "values"


def by_kind(objects: list[Object], kind: str) -> Object:
    found = [one for one in objects if one["kind"] == kind]
    assert len(found) == 1, f"{len(found)} of kind {kind}"
    return found[0]


def workload(objects: list[Object]) -> Object:
    return next(one for one in objects if one["kind"] in ("Deployment", "StatefulSet"))


def pod(objects: list[Object]) -> Object:
    return workload(objects)["spec"]["template"]["spec"]


def container(objects: list[Object]) -> Object:
    return pod(objects)["containers"][0]


def texts(objects: list[Object]) -> dict[str, str]:
    """What is mounted: the configuration."""
    for one in objects:
        texts = one.get("data") or one.get("stringData") or {}
        if "tidegate.toml" in texts:
            return texts
    raise AssertionError("no object holds the configuration")


@CASES
def test_every_object_fits_the_schema_of_its_kind(render, values) -> None:
    assert misfits(render("--values", values)) == []


def test_a_field_that_kubernetes_does_not_know_is_found(render) -> None:
    deployment = by_kind(render(), "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["livenesProbe"] = {}
    (found,) = misfits([deployment])
    assert "livenesProbe" in found


@CASES
def test_helm_finds_nothing_to_mend(run_helm, values) -> None:
    run = run_helm("lint", "--strict", "--quiet", CHART, "--values", values)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@CASES
def test_the_program_takes_the_configuration_as_it_is_mounted(render, tidegate, values) -> None:
    objects = render("--values", values)
    environment = {one["name"]: one.get("value", "t" * 16) for one in container(objects)["env"]}
    # Sockets of workers are in this folder, and their paths must be short.
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "tidegate.toml"
        config.write_text(texts(objects)["tidegate.toml"])
        command = [tidegate, "config", "check", "-c", config]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    # The program warns where one user's page may go to the next.
    assert "one user's page" not in run.stdout + run.stderr


def test_the_example_of_workers_has_room_to_share_a_model(render) -> None:
    objects = render("--values", HERE / "workers.yaml")
    mounts = {mount["mountPath"]: mount["name"] for mount in container(objects)["volumeMounts"]}
    volumes = {volume["name"]: volume for volume in pod(objects)["volumes"]}
    shared = volumes[mounts["/dev/shm"]]["emptyDir"]
    assert shared == {"medium": "Memory", "sizeLimit": "1792Mi"}


def test_an_ingress_leads_to_the_service(render) -> None:
    for words in (["--set", "ingress.enabled=true"], ["--values", HERE / "on.yaml"]):
        objects = render(*words)
        rules = by_kind(objects, "Ingress")["spec"]["rules"]
        service = next(one for one in objects if one["kind"] == "Service")
        for rule in rules:
            (path,) = rule["http"]["paths"]
            backend = path["backend"]["service"]
            assert backend["name"] == service["metadata"]["name"]
            assert backend["port"]["name"] in [port["name"] for port in service["spec"]["ports"]]
    assert [rule["host"] for rule in rules] == ["news.example", "*.news.example"]


def test_what_is_switched_off_is_not_made(render) -> None:
    objects = render("--values", HERE / "off.yaml")
    kinds = sorted(one["kind"] for one in objects)
    assert kinds == ["ConfigMap", "Deployment", "Service", "Service"]
    assert "topologySpreadConstraints" not in pod(objects)


@CASES
def test_no_pod_runs_as_root_or_writes_outside_its_volumes(render, values) -> None:
    objects = render("--values", values)
    security = pod(objects)["securityContext"]
    assert security["runAsNonRoot"] and security["runAsUser"] > 0
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container(objects)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod(objects)["automountServiceAccountToken"] is False


@CASES
def test_a_pod_lives_for_its_pause_and_its_drain(render, values) -> None:
    objects = render("--values", values)
    pause = container(objects)["lifecycle"]["preStop"]["sleep"]["seconds"]
    environment = {one["name"]: one.get("value") for one in container(objects)["env"]}
    drain = int(environment["GRACEFUL_TIMEOUT"])
    # The record process is killed after ten seconds more.
    assert pod(objects)["terminationGracePeriodSeconds"] > pause + drain + 10


def test_an_update_takes_no_pod_away_before_another_is_ready(render) -> None:
    update = by_kind(render(), "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert update == {"maxSurge": 1, "maxUnavailable": 0}


def test_a_pod_with_its_own_volume_keeps_its_name(render) -> None:
    objects = render("--values", HERE / "persistent.yaml")
    nodes = by_kind(objects, "StatefulSet")["spec"]
    claim = nodes["volumeClaimTemplates"][0]
    assert claim["spec"]["resources"]["requests"]["storage"] == "8Gi"
    names = [one["metadata"]["name"] for one in objects if one["kind"] == "Service"]
    assert nodes["serviceName"] in names
    assert claim["metadata"]["name"] in [m["name"] for m in container(objects)["volumeMounts"]]


def test_a_configuration_with_a_password_is_only_in_a_secret(render) -> None:
    objects = render("--values", HERE / "persistent.yaml")
    holders = [one["kind"] for one in objects if "tidegate:secret@db" in json.dumps(one)]
    assert holders == ["Secret"]


def test_the_token_is_only_in_its_secret(render) -> None:
    objects = render("--values", HERE / "workers.yaml")
    holders = [one["kind"] for one in objects if "a-token-of-the-test" in json.dumps(one)]
    assert holders == ["Secret"]


def test_a_changed_configuration_or_token_replaces_the_pods(render) -> None:
    workers = ["--values", HERE / "workers.yaml"]

    def annotations(*words: str | Path) -> Object:
        return workload(render(*workers, *words))["spec"]["template"]["metadata"]["annotations"]

    before = annotations()
    changed = annotations("--set-string", "config=[listen]\nadmin = '0.0.0.0:8081'")
    assert changed["checksum/config"] != before["checksum/config"]
    changed = annotations("--set", "admin.token=another-token-of-the-test")
    assert changed["checksum/admin-token"] != before["checksum/admin-token"]


def test_ports_are_those_of_the_configuration(render) -> None:
    objects = render("--values", HERE / "on.yaml")
    ports = {port["name"]: port["containerPort"] for port in container(objects)["ports"]}
    assert ports == {"http": 8000, "admin": 8001, "statsd": 8125}
    ports = {port["name"]: port["containerPort"] for port in container(render())["ports"]}
    assert ports == {"http": 8080, "admin": 8081}


def test_the_admin_port_is_open_only_to_who_is_named(render) -> None:
    policy = by_kind(render(), "NetworkPolicy")["spec"]["ingress"]
    assert policy == [{"ports": [{"port": "http"}]}]
    objects = render("--values", HERE / "workers.yaml")
    public, admin = by_kind(objects, "NetworkPolicy")["spec"]["ingress"]
    assert "from" not in public
    assert admin["ports"] == [{"port": "admin"}]
    assert len(admin["from"]) == 1


def test_the_chart_scales_by_cpu_or_by_a_metric(render) -> None:
    scaled = by_kind(render("--values", HERE / "cpu.yaml"), "HorizontalPodAutoscaler")["spec"]
    assert scaled["metrics"][0]["containerResource"]["target"]["averageUtilization"] == 60
    objects = render("--values", HERE / "workers.yaml")
    scaled = by_kind(objects, "HorizontalPodAutoscaler")["spec"]
    assert scaled["metrics"][0]["pods"]["metric"]["name"] == "tidegate_workers_waiting"
    assert scaled["scaleTargetRef"]["name"] == workload(objects)["metadata"]["name"]
    assert "replicas" not in workload(objects)["spec"]


def test_clients_keep_their_addresses_where_that_is_said(render) -> None:
    def public(*words: str | Path) -> Object:
        services = [one for one in render(*words) if one["kind"] == "Service"]
        (found,) = [one["spec"] for one in services if one["spec"].get("clusterIP") != "None"]
        return found

    assert public("--values", HERE / "on.yaml")["externalTrafficPolicy"] == "Local"
    # Kubernetes refuses any, also the default, on a service that is not reached from outside.
    assert "externalTrafficPolicy" not in public()


def test_prometheus_scrapes_each_pod_with_the_token(render) -> None:
    objects = render("--values", HERE / "on.yaml")
    monitor = by_kind(objects, "ServiceMonitor")["spec"]
    paths = [endpoint["path"] for endpoint in monitor["endpoints"]]
    assert paths == ["/metrics", "/statsd/metrics"]
    credentials = monitor["endpoints"][0]["authorization"]["credentials"]
    assert credentials == {"name": "tidegate-token", "key": "token"}
    wanted = monitor["selector"]["matchLabels"].items()
    services = [one for one in objects if one["kind"] == "Service"]
    scraped = [one for one in services if wanted <= one["metadata"]["labels"].items()]
    assert [one["spec"]["clusterIP"] for one in scraped] == ["None"]


def test_rules_and_dashboard_are_those_of_the_repository(render) -> None:
    objects = render("--values", HERE / "on.yaml")
    packaging = CHART.parents[1]
    rules = yaml.safe_load((packaging / "prometheus/tidegate.rules.yaml").read_text())
    assert by_kind(objects, "PrometheusRule")["spec"] == rules
    dashboard = by_kind(objects, "ConfigMap")
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"
    shown = json.loads(dashboard["data"]["tidegate.json"])
    assert shown == json.loads((packaging / "grafana/tidegate.json").read_text())


def test_a_package_of_the_chart_holds_all_that_it_needs(run_helm, tmp_path) -> None:
    run = run_helm("package", CHART, "--destination", tmp_path)
    assert run.returncode == 0, run.stderr
    (package,) = tmp_path.glob("*.tgz")
    switches = ["--set", "prometheusRule.enabled=true,grafanaDashboard.enabled=true"]
    run = run_helm("template", "news", package, *switches)
    kinds = [one["kind"] for one in yaml.safe_load_all(run.stdout) if one]
    assert kinds.count("PrometheusRule") == 1 and kinds.count("ConfigMap") == 2


def test_notes_say_what_to_try(run_helm) -> None:
    words = ["install", "news", CHART, "--dry-run=client", "--values", HERE / "workers.yaml"]
    notes = run_helm(*words).stdout.split("NOTES:\n")[1]
    for tried in ("rollout status deployment/news-tidegate", "8081/status", "get secret"):
        assert tried in notes


def notes(run_helm, *words: str | Path) -> str:
    run = run_helm("install", "news", CHART, "--dry-run=client", *words)
    assert run.returncode == 0, run.stderr
    return run.stdout.split("NOTES:\n")[1]


def test_notes_say_that_a_volume_is_smaller_than_its_bounds(run_helm) -> None:
    def told(config: str, size: str) -> bool:
        words = ["--set-literal", f"config={config}", "--set", f"data.size={size}"]
        return "data.size is" in notes(run_helm, *words)

    assert told("[journal]", "18Gi") and not told("[journal]", "19Gi")
    assert told("[journal]\nkeep.bytes = '5gb'", "4.6Gi")
    assert not told("[journal]\nkeep.bytes = '5GiB'", "5Gi")
    assert told("[journal]\n[cache.disk]", "27Gi") and not told("[journal]\n[cache.disk]", "28Gi")
    assert told("[cache]\ndisk = { bytes = '1500MB' }", "1Gi")
    assert not told("[journal]\ndir = '/mnt/journal'", "1Gi") and not told("[cache]", "1Mi")


def test_notes_say_that_a_server_is_the_pod_itself(run_helm) -> None:
    def told(server: str, *words: str) -> bool:
        config = f"config=[[upstream]]\nname = 'app'\nservers = ['app:8000', '{server}']"
        return "which is the pod itself" in notes(run_helm, "--set-literal", config, *words)

    assert all(told(server) for server in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000"))
    assert not told("localhost.example:8000")
    sidecar = 'initContainers=[{"name":"app","image":"app","restartPolicy":"Always"}]'
    assert not told("localhost:8000", "--set-json", sidecar)


def test_notes_say_that_clients_may_lose_their_addresses(run_helm) -> None:
    def told(*words: str) -> bool:
        return "share what one client may hold" in notes(run_helm, *words)

    balanced = ["--set", "service.type=LoadBalancer"]
    ingress = ["--set", "ingress.enabled=true"]
    assert told(*ingress)
    assert not told(*ingress, "--set-literal", "config=[listen]\ntrusted = ['10.0.0.0/8']")
    assert not told() and told(*balanced) and told("--set", "service.type=NodePort")
    assert told(*balanced, "--set", "service.externalTrafficPolicy=Cluster")
    assert not told(*balanced, "--set", "service.externalTrafficPolicy=Local")
    for proxies, is_told in (("['10.0.0.0/8']", False), ("[]", True)):
        config = f"config=[listen]\ntrusted = {proxies}"
        assert told(*balanced, "--set-literal", config) == is_told


def test_the_chart_knows_the_defaults_of_the_program(tidegate) -> None:
    templates = CHART / "templates"
    filled = r'"tidegate\.filled" \(list \$config "(\w+)" \(list (.*?)\) (.*?)\)'
    told = {
        ".".join(re.findall(r"\w+", f"{table} {key}")): size
        for size, key, table in re.findall(filled, (templates / "_warnings.tpl").read_text())
    }
    assert told.keys() == {"journal.keep.bytes", "cache.disk.bytes"}
    admin = re.search(r'"admin" "(\S+)"', (templates / "_config.tpl").read_text())
    assert admin
    for key, default in {**told, "listen.admin": admin[1]}.items():
        command = [tidegate, "config", "explain", key]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        assert f"\n  default   {default}\n" in run.stdout, key


def test_the_process_is_the_user_of_the_images() -> None:
    script = (ROOT / "packaging/make/images.py").read_text()
    user = re.search(r"^USER = (\d+)$", script, re.MULTILINE)
    assert user
    security = yaml.safe_load((CHART / "values.yaml").read_text())["security"]
    assert security == {"user": int(user[1]), "group": int(user[1])}
    for page in ("kubernetes.md", "images.md", "compose.md"):
        assert f"user {user[1]}" in (ROOT / "docs/deploying" / page).read_text(), page


def leaves(values: Object, schema: Object, path: str = "") -> dict[str, object]:
    """Each value that is set as one, with its default; what Kubernetes defines is one value."""
    found: dict[str, object] = {}
    for key, value in values.items():
        part = schema["properties"][key]
        if value and isinstance(value, dict) and "properties" in part and key != "resources":
            found |= leaves(value, part, f"{path}{key}.")
        else:
            found[path + key] = value
    return found


def schema_and_values() -> tuple[Object, Object]:
    schema = json.loads((CHART / "values.schema.json").read_text())
    return schema, yaml.safe_load((CHART / "values.yaml").read_text())


def test_the_readme_has_each_value_with_its_default() -> None:
    schema, values = schema_and_values()
    told = {}
    for line in (CHART / "README.md").read_text().splitlines():
        cells = line.split(" | ")
        if line.startswith("| `") and len(cells) == 3:
            key, default, _ = cells
            told[key.strip("|` ")] = default.strip("`")
    expected = {key: json.dumps(default) for key, default in leaves(values, schema).items()}
    expected["config"] = "values.yaml"
    assert told == expected


def test_the_probes_ask_the_admin_listener_of_the_configuration(render, tidegate) -> None:
    for asked in ("0.0.0.0:9", "127.0.0.1:9", "[::1]:9"):
        config = f'[listen]\nadmin = "{asked}"\n'
        found = container(
            render("--set-string", f"config={config}", "--set", f"admin.token={'t' * 16}")
        )
        command = found["livenessProbe"]["exec"]["command"]
        assert command == ["tidegate", "health", "live", "--admin", asked]
        # Nothing listens there; wrong usage would be exit code 2.
        run = subprocess.run([tidegate, *command[1:]], capture_output=True, text=True)
        assert run.returncode == 1, run.stderr
