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
from conftest import ROOT, Object, serving

COMPOSE = ROOT / "packaging/compose"
SCHEMA = json.loads((Path(__file__).parent / "schemas/compose.json").read_text())
FILES = pytest.mark.parametrize("name", ["compose.yaml", "workers.yaml"])
CONFIGS = pytest.mark.parametrize("name", ["tidegate.toml", "workers.toml"])


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


@CONFIGS
def test_the_program_takes_the_configuration(tidegate, name) -> None:
    # Sockets of workers are in this folder, and their paths must be short.
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "tidegate.toml"
        config.write_text((COMPOSE / name).read_text())
        environment = os.environ | {"TIDEGATE_ADMIN_TOKEN": "t" * 16}
        command = [tidegate, "config", "check", "-c", config]
        run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stderr


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
    return text


def get(port: int) -> tuple[str, str]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=60) as answer:
        return answer.read().decode(), answer.headers["cache-status"]


@CONFIGS
def test_the_app_answers_once_and_the_cache_from_then_on(tidegate, name) -> None:
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
                first, second = get(public_port), get(public_port)
    finally:
        app.terminate()
        app.wait()
    process = re.search(r"by process (\d+)", first[0])
    assert process
    assert (int(process[1]) == app.pid) == (name == "tidegate.toml")
    assert "stored" in first[1]
    assert second[0] == first[0] and "; hit" in second[1]
