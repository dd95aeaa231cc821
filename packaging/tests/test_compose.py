"""Claims about the Compose file: it fits the specification, and what it mounts runs."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

import jsonschema_rs
import pytest
import tomllib
import yaml
from conftest import ROOT, VERSION, Object, serving

COMPOSE = ROOT / "packaging/compose"
SCHEMA = json.loads((Path(__file__).parent / "schemas/compose.json").read_text())
FILE_NAMES = ["compose.yaml", "workers.yaml"]
FILES = pytest.mark.parametrize("name", FILE_NAMES)
USER = "10001:10001"
CONFIGS = pytest.mark.parametrize("name", ["tidegate.toml", "workers.toml"])
SHIPPED = ["compose/tidegate.toml", "compose/workers.toml", "model-image/tidegate.toml"]


def load(name: str) -> Object:
    return yaml.safe_load((COMPOSE / name).read_text())


def mounts(name: str) -> list[Path]:
    """The files and folders of the repository that the services mount."""
    sources = [
        volume.split(":")[0]
        for service in load(name)["services"].values()
        for volume in service.get("volumes", [])
    ]
    return [COMPOSE / source for source in sources if source.startswith(".")]


@FILES
def test_the_file_fits_the_specification_of_compose(name) -> None:
    errors = [str(error) for error in jsonschema_rs.validator_for(SCHEMA).iter_errors(load(name))]
    assert not errors, "\n".join(errors)


def test_a_key_that_compose_does_not_know_is_found() -> None:
    compose = load("compose.yaml")
    compose["services"]["tidegate"]["helthcheck"] = {}
    errors = list(jsonschema_rs.validator_for(SCHEMA).iter_errors(compose))
    assert "helthcheck" in str(errors[0])


@FILES
def test_everything_that_is_mounted_is_there(name) -> None:
    assert mounts(name)
    assert [source for source in mounts(name) if not source.exists()] == []


def layered() -> Object:
    """The services of compose.yaml with workers.yaml on top, for the keys that have one value."""
    under, over = load("compose.yaml")["services"], load("workers.yaml")["services"]
    return {name: service | over.get(name, {}) for name, service in under.items()}


@pytest.mark.parametrize("services", [load("compose.yaml")["services"], layered()], ids=FILE_NAMES)
def test_tidegate_and_app_are_the_user_to_whom_the_volume_belongs(services) -> None:
    assert services["tidegate"]["user"] == services["app"]["user"] == USER
    script = (ROOT / "packaging/make/images.py").read_text()
    assert USER == ":".join(re.findall(r"^USER = (\d+)$", script, re.MULTILINE) * 2)


def test_workers_run_in_an_image_of_ours_with_libraries_for_its_python() -> None:
    lines = load("workers.yaml")["services"]["tidegate"]["build"]["dockerfile_inline"].splitlines()
    libraries, image = (line for line in lines if line.startswith("FROM "))
    assert image == f"FROM ${{TIDEGATE_PYTHON_IMAGE:-tidegate-python:{VERSION}}}"
    # Another user, and an entry point in place of the command, would come after it.
    after = lines[lines.index(image) + 1 :]
    assert {line.split()[0] for line in after} == {"COPY", "ENV"}
    page = (ROOT / "docs/deploying/images.md").read_text()
    version = re.search(r"Debian 12's Python ([\d.]+)", page)
    assert version and libraries == f"FROM python:{version[1]}-slim-bookworm AS libraries"


@FILES
def test_what_an_image_copies_is_beside_the_app(name) -> None:
    builds = [one["build"] for one in load(name)["services"].values() if "build" in one]
    copied = [
        COMPOSE / build["context"] / file
        for build in builds
        for file in re.findall(r"^COPY (?!--from)(\S+)", build["dockerfile_inline"], re.MULTILINE)
    ]
    assert copied and [file for file in copied if not file.exists()] == []


def test_a_wrong_configuration_ends_the_starts() -> None:
    assert layered()["tidegate"]["restart"] == "on-failure:5"


def test_only_the_public_port_leaves_the_machine() -> None:
    services = load("compose.yaml")["services"]
    ports = services["tidegate"]["ports"]
    assert [port for port in ports if not port.startswith("127.0.0.1:")] == [
        "${TIDEGATE_PORT:-8080}:8080"
    ]
    assert [name for name in services if "ports" in services[name]] == ["tidegate"]


@CONFIGS
def test_the_stop_gives_the_drain_its_time(name) -> None:
    config = tomllib.loads((COMPOSE / name).read_text())
    assert "drain_timeout" not in config["listen"], "the default is 30 s"
    grace = load("compose.yaml")["services"]["tidegate"]["stop_grace_period"]
    # The record process is killed after ten seconds more.
    assert int(grace.removesuffix("s")) > 30 + 10


@pytest.mark.parametrize("name", SHIPPED)
def test_the_program_takes_the_configuration_and_warns_of_no_cookies(tidegate, name) -> None:
    # Sockets of workers are in this folder, and their paths must be short.
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "tidegate.toml"
        config.write_text((ROOT / "packaging" / name).read_text())
        assert "cookies on" not in checked(tidegate, config)


def test_a_cached_route_that_sends_cookies_on_is_warned_of(tidegate, tmp_path) -> None:
    config = tmp_path / "tidegate.toml"
    text = (COMPOSE / "tidegate.toml").read_text()
    config.write_text(text.replace("key   = { cookies = [] }\n", ""))
    assert "route `/public/{*rest}` sends cookies on" in checked(tidegate, config)


def checked(program: Path, config: Path) -> str:
    """What the program says of a configuration that it takes."""
    environment = os.environ | {"TIDEGATE_ADMIN_TOKEN": "t" * 16}
    command = [program, "config", "check", "-c", config]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr
    return run.stdout + run.stderr


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def on_this_machine(name: str, app_port: int, public_port: int) -> str:
    """The configuration with addresses and folders of this machine in place of containers."""
    text = (COMPOSE / name).read_text()
    for inside, here in {
        "0.0.0.0:8080": f"127.0.0.1:{public_port}",
        "0.0.0.0:8081": "127.0.0.1:0",
        "0.0.0.0:8125": f"127.0.0.1:{free_port()}",
        "app:8000": f"127.0.0.1:{app_port}",
        '"/app"': f'"{COMPOSE / "app"}"',
        "postgres://tidegate@postgres:5432/events": "sqlite:events.db",
    }.items():
        text = text.replace(inside, here)
    # Questions to statsd, which are open to the container alone.
    return text.replace("[statsd]\n", f'[statsd]\nmanagement = "127.0.0.1:{free_port()}"\n')


def get(port: int, path: str) -> tuple[str, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return answer.read().decode(), answer.headers["cache-status"]


@CONFIGS
def test_the_app_answers_once_for_everybody_and_the_cache_from_then_on(tidegate, name) -> None:
    app_port, public_port = free_port(), free_port()
    environment = os.environ | {"PORT": str(app_port), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, COMPOSE / "app/main.py"]
    app = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "tidegate.toml"
            config.write_text(on_this_machine(name, app_port, public_port))
            while True:
                try:
                    socket.create_connection(("127.0.0.1", app_port)).close()
                    break
                except ConnectionRefusedError:
                    assert app.poll() is None, "the app has ended"
            with serving(tidegate, config, PYTHONDONTWRITEBYTECODE="1"):
                first, second = (get(public_port, "/public/page") for _ in range(2))
                own = get(public_port, "/")
    finally:
        app.terminate()
        app.wait()
    process = re.search(r"by process (\d+)", first[0])
    assert process
    assert (int(process[1]) == app.pid) == (name == "tidegate.toml")
    assert "stored" in first[1]
    assert second[0] == first[0] and "; hit" in second[1]
    assert "by process" in own[0] and own[1] == "tidegate; fwd=bypass"
