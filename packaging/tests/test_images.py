"""Claims about the images, made of this very program and unpacked by tools of others."""

import json
import os
import subprocess
import sys
import tarfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from conftest import ROOT, answering

VERSION = "0.1.0"
IMAGES = ["tidegate", "tidegate-python"]
BECOMES_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
LISTEN = '[listen]\npublic = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\n[journal]\n'
ROUTE = '[[route]]\npath = "/{*rest}"\nto = "upstream:app"\n'


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"
    return done.stdout


def make(program: Path, folder: Path) -> dict[str, Path]:
    folder.mkdir()
    run(sys.executable, ROOT / "packaging/make/images.py", program, folder, VERSION, "--quick")
    return {name: folder / f"{name}-{VERSION}-image.tar" for name in IMAGES}


def layers(image: Path) -> list[str]:
    return json.loads(run("skopeo", "inspect", f"oci-archive:{image}"))["Layers"]


def unpack(image: Path, folder: Path) -> Path:
    """The root directory of a container, as umoci makes it."""
    layout = folder / "layout"
    with tarfile.open(image) as tar:
        tar.extractall(layout, filter="data")
    tag = json.loads((layout / "index.json").read_text())["manifests"][0]["annotations"]
    tag = tag["org.opencontainers.image.ref.name"]
    how = [] if os.geteuid() == 0 else ["--rootless"]
    run("umoci", "unpack", *how, "--image", f"{layout}:{tag}", folder / "bundle")
    return folder / "bundle/rootfs"


@contextmanager
def container(root: Path, files: Path) -> Iterator[tuple[str, str]]:
    script = Path(__file__).parent / "in_image.sh"
    with answering(["unshare", "--mount", "sh", script, root, files]) as ports:
        yield ports


def ask(port: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/") as answer:
        return answer.read().decode()


@pytest.fixture(scope="module")
def images(tidegate, tmp_path_factory) -> dict[str, Path]:
    return make(tidegate, tmp_path_factory.mktemp("images") / "first")


@pytest.fixture(scope="module")
def roots(images, tmp_path_factory) -> dict[str, Path]:
    return {name: unpack(file, tmp_path_factory.mktemp(name)) for name, file in images.items()}


@pytest.fixture
def origin() -> Iterator[str]:
    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@BECOMES_ROOT
def test_the_image_answers_as_user_10001_with_a_root_that_it_cannot_write(
    roots, origin, tmp_path
) -> None:
    config = f'{LISTEN}[[upstream]]\nname = "app"\nservers = ["{origin}"]\n{ROUTE}'
    (tmp_path / "tidegate.toml").write_text(config)
    with container(roots["tidegate"], tmp_path) as (public, admin):
        assert ask(public) == "hello"
        within = ["chroot", "--userspec=10001:10001", roots["tidegate"], "/usr/local/bin/tidegate"]
        assert run(*within, "health", "ready", "--admin", f"127.0.0.1:{admin}") == "ready\n"


@BECOMES_ROOT
def test_the_image_with_python_runs_an_app_in_workers(roots, tmp_path) -> None:
    (tmp_path / "main.py").write_text(
        "import ctypes, hashlib, sqlite3, ssl, sys, zlib\n"
        "ctypes.CDLL('libstdc++.so.6')\n"
        "def app(request): return {'python': sys.version_info[:2], 'prefix': sys.prefix}\n"
    )
    config = f'{LISTEN}[[upstream]]\nname = "app"\npython = "main:app"\nworkers = 1\n{ROUTE}'
    (tmp_path / "tidegate.toml").write_text(config)
    with container(roots["tidegate-python"], tmp_path) as (public, _):
        answer = json.loads(ask(public))
    python = Path("/usr/bin/python3").readlink().name
    assert answer == {"python": [3, int(python.split(".")[1])], "prefix": "/usr"}


def test_two_runs_of_one_program_give_the_same_bytes(tidegate, images, tmp_path) -> None:
    again = make(tidegate, tmp_path / "second")
    for name, file in images.items():
        assert again[name].read_bytes() == file.read_bytes(), f"two images {name} differ"


def test_a_changed_program_changes_the_last_layer_only(tidegate, images, tmp_path) -> None:
    changed = tmp_path / "tidegate"
    note = tmp_path / "note"
    note.write_text("changed")
    run("objcopy", "--add-section", f".changed={note}", tidegate, changed)
    for name, file in make(changed, tmp_path / "changed").items():
        before, after = layers(images[name]), layers(file)
        assert before[:-1] == after[:-1]
        assert before[-1] != after[-1]


@pytest.mark.parametrize("name", IMAGES)
def test_docker_finds_the_same_image_as_readers_of_layouts(images, name) -> None:
    as_docker = json.loads(run("skopeo", "inspect", "--config", f"docker-archive:{images[name]}"))
    as_layout = json.loads(run("skopeo", "inspect", "--config", f"oci-archive:{images[name]}"))
    assert as_docker["rootfs"] == as_layout["rootfs"]
    assert as_docker["config"]["User"] == as_layout["config"]["User"] == "10001:10001"
    with tarfile.open(images[name]) as tar:
        found = tar.extractfile("manifest.json")
        assert found and json.load(found)[0]["RepoTags"] == [f"{name}:{VERSION}"]


@pytest.mark.parametrize("name", IMAGES)
def test_each_package_in_an_image_has_its_record_and_its_licence(roots, name) -> None:
    records = list((roots[name] / "var/lib/dpkg/status.d").iterdir())
    assert len(records) >= 3
    for record in records:
        assert record.read_text().startswith(f"Package: {record.name}\n")
        assert (roots[name] / "usr/share/doc" / record.name / "copyright").stat().st_size > 0
