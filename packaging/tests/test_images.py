"""Claims about the images, made of this very program and unpacked by tools of others."""

import json
import os
import re
import shutil
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
from conftest import ROOT, VERSION, answering

IMAGES = ["tidegate", "tidegate-python"]
BECOMES_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may change the root")
DATA = "/var/lib/tidegate"
LISTEN = '[listen]\npublic = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\n[journal]\n'
ROUTE = '[[route]]\npath = "/{*rest}"\nto = "upstream:app"\n'


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stderr}{done.stdout}"
    return done.stdout


def make(program: Path, folder: Path) -> dict[str, Path]:
    folder.mkdir()
    (folder / f"tidegate_{VERSION}_third-party.txt").write_text("Copyright others\n")
    run(sys.executable, ROOT / "packaging/make/images.py", program, folder, VERSION, "--quick")
    return {name: folder / f"{name}-{VERSION}-image.tar" for name in IMAGES}


def layers(image: Path) -> list[str]:
    return json.loads(run("skopeo", "inspect", f"oci-archive:{image}"))["Layers"]


def unpack(image: Path, folder: Path) -> Path:
    """The root directory of a container, as umoci makes it."""
    layout = folder / "layout"
    layout.mkdir()
    run("tar", "--extract", "--file", image, "--directory", layout)
    tag = json.loads((layout / "index.json").read_text())["manifests"][0]["annotations"]
    tag = tag["org.opencontainers.image.ref.name"]
    how = [] if os.geteuid() == 0 else ["--rootless"]
    run("umoci", "unpack", *how, "--image", f"{layout}:{tag}", folder / "bundle")
    return folder / "bundle/rootfs"


@contextmanager
def container(image: Path, root: Path, files: Path) -> Iterator[tuple[str, str]]:
    """What a container of the image runs, as the user and with the variables that it names."""
    config = json.loads(run("skopeo", "inspect", "--config", f"oci-archive:{image}"))["config"]
    chroot = shutil.which("chroot")
    assert chroot
    command = ["env", "-i", *config["Env"], chroot, f"--userspec={config['User']}", root]
    script = Path(__file__).parent / "in_image.sh"
    pod = ["unshare", "--mount", "sh", script, root, files]
    with answering([*pod, *command, *config["Cmd"]]) as ports:
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
    images, roots, origin, tmp_path
) -> None:
    config = f'{LISTEN}[[upstream]]\nname = "app"\nservers = ["{origin}"]\n{ROUTE}'
    (tmp_path / "tidegate.toml").write_text(config)
    with container(images["tidegate"], roots["tidegate"], tmp_path) as (public, admin):
        assert ask(public) == "hello"
        within = ["chroot", "--userspec=10001:10001", roots["tidegate"], "/usr/local/bin/tidegate"]
        assert run(*within, "health", "ready", "--admin", f"127.0.0.1:{admin}") == "ready\n"


@BECOMES_ROOT
def test_the_image_with_python_runs_an_app_in_workers(images, roots, tmp_path) -> None:
    (tmp_path / "main.py").write_text(
        "import ctypes, hashlib, sqlite3, ssl, sys, zlib\n"
        "from datetime import datetime\n"
        "from zoneinfo import ZoneInfo\n"
        "for name in 'stdc++.so.6', 'dl.so.2', 'pthread.so.0', 'rt.so.1', 'util.so.1':\n"
        "    ctypes.CDLL('lib' + name)\n"
        "noon = datetime(2026, 7, 1, 12, tzinfo=ZoneInfo('Europe/Vienna')).isoformat()\n"
        "def app(request):\n"
        "    return {'python': sys.version_info[:2], 'prefix': sys.prefix, 'noon': noon}\n"
    )
    config = f'{LISTEN}[[upstream]]\nname = "app"\npython = "main:app"\nworkers = 1\n{ROUTE}'
    (tmp_path / "tidegate.toml").write_text(config)
    name = "tidegate-python"
    with container(images[name], roots[name], tmp_path) as (public, _):
        answer = json.loads(ask(public))
    python = Path("/usr/bin/python3").readlink().name
    assert answer == {
        "python": [3, int(python.split(".")[1])],
        "prefix": "/usr",
        "noon": "2026-07-01T12:00:00+02:00",
    }


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


def records_of(root: Path) -> list[Path]:
    files = (root / "var/lib/dpkg/status.d").iterdir()
    return [file for file in files if file.suffix != ".md5sums"]


@pytest.mark.parametrize("name", IMAGES)
def test_each_package_in_an_image_has_record_files_and_licence(roots, name) -> None:
    records = records_of(roots[name])
    assert len(records) >= 3
    for record in records:
        files = run("dpkg-query", "--control-show", record.name, "md5sums")
        assert record.with_name(f"{record.name}.md5sums").read_text() == files
        assert record.read_text().startswith(f"Package: {record.name}\n")
        assert (roots[name] / "usr/share/doc" / record.name / "copyright").stat().st_size > 0


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_has_the_licences_of_what_is_linked(roots, name) -> None:
    folder = roots[name] / "usr/share/doc/tidegate"
    assert (folder / "third-party.txt").read_text() == "Copyright others\n"
    assert "Apache License" in (folder / "LICENSE").read_text()


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_says_whose_versions_its_packages_have(roots, name) -> None:
    etc = roots[name] / "etc"
    assert (etc / "os-release").readlink() == Path("../usr/lib/os-release")
    release = (etc / "os-release").read_text()
    assert "ID=debian" in release.splitlines()
    assert release == Path("/usr/lib/os-release").read_text()
    assert (etc / "debian_version").read_text() == Path("/etc/debian_version").read_text()


@pytest.mark.parametrize("name", IMAGES)
def test_each_file_that_debian_has_belongs_to_a_package_with_a_record(roots, name) -> None:
    root = roots[name]
    listed = {record.name for record in records_of(root)}
    files = {f"/{path.relative_to(root)}" for path in root.glob("usr/**/*") if not path.is_dir()}
    # A package's folder of licences may be a link to that of another.
    files = {file for file in files if not file.startswith(("/usr/local/", "/usr/share/doc/"))}
    owned = set()
    for package in listed:
        for file in run("dpkg-query", "--listfiles", package).splitlines():
            # The same file, where its package knows it by the link of a merged /usr.
            owned |= {file, f"/usr{file}"}
    assert len(files) > 4 and sorted(files - owned) == []


@pytest.mark.parametrize("name", IMAGES)
def test_directories_of_an_archive_come_before_what_is_in_them(images, name) -> None:
    with tarfile.open(images[name]) as tar:
        members = tar.getmembers()
        found = tar.extractfile("manifest.json")
        assert found
        for path in json.load(found)[0]["Layers"]:
            members += tarfile.open(fileobj=tar.extractfile(path)).getmembers()
    made = {"."}
    for member in members:
        assert str(Path(member.name).parent) in made, member.name
        if member.isdir():
            made.add(member.name)
    assert "blobs/sha256" in made and "usr/local/bin" in made


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_has_no_shell_and_nothing_that_changes_the_user(images, name) -> None:
    image = images[name]
    with tarfile.open(image) as tar:
        found = tar.extractfile("manifest.json")
        assert found
        packed = json.load(found)[0]["Layers"]
        members = []
        for path in packed:
            with tarfile.open(fileobj=tar.extractfile(path)) as layer:
                members += layer.getmembers()
    assert any(member.name == "usr/local/bin/tidegate" for member in members)
    shells = {"sh", "bash", "dash", "busybox", "apt", "dpkg", "perl"}
    files = [Path(one.name) for one in members if not one.isdir()]
    assert [path for path in files if path.name in shells] == []
    assert [one.name for one in members if one.mode & 0o6000] == []


def add(base: Path, out: Path, name: str, *rest: str) -> str:
    """Adds a layer, and returns the last line, which says what is to be sent."""
    script = ROOT / "packaging/make/add.py"
    return run(sys.executable, script, base, out, name, *rest, "--quick").splitlines()[-1]


@BECOMES_ROOT
def test_changed_code_on_a_large_model_is_one_small_layer(images, tmp_path) -> None:
    model, app, data = (tmp_path / name for name in ("model", "app", "data"))
    for folder in (model, app, data):
        folder.mkdir()
    (model / "weights").write_bytes(os.urandom(3_000_000))
    (model / "library.py").write_text("SIZE = len(open('/srv/model/weights', 'rb').read())\n")
    (app / "main.py").write_text("import library\ndef app(request): return library.SIZE\n")
    config = f'root = "{DATA}"\n{LISTEN}[[upstream]]\nname = "app"\npython = "main:app"\n'
    config += f'app_dir = "/srv/app"\nworkers = 1\n{ROUTE}'
    (app / "tidegate.toml").write_text(config)
    first, second = tmp_path / "first.tar", tmp_path / "second.tar"

    variable = ["--env", "PYTHONPATH=/srv/model"]
    add(images["tidegate-python"], first, "model:1", f"{model}=/srv/model", *variable)
    command = ["--command", "tidegate serve -c /srv/app/tidegate.toml"]
    stage_two = [first, second, "app:1", f"{app}=/srv/app", *command]
    assert add(*stage_two).startswith("to send: 5 of 5 layers")
    before = layers(second)
    assert "to send: 0 of 5 layers" in add(*stage_two)
    (app / "main.py").write_text("import library\ndef app(request): return -library.SIZE\n")
    said = add(*stage_two)
    after = layers(second)
    assert before[:-1] == after[:-1] and before[-1] != after[-1]
    size = re.match(r"to send: 1 of 5 layers, ([\d,]+) of ", said)
    assert size and int(size[1].replace(",", "")) < 10_000, said
    with container(second, unpack(second, tmp_path), data) as (public, _):
        assert ask(public) == "-3000000"


def test_nothing_is_added_where_containers_write_or_behind_a_link(images, tmp_path) -> None:
    script = ROOT / "packaging/make/add.py"
    out = tmp_path / "out.tar"
    for target in ("/var/lib/tidegate/app", "/tmp", "/lib/app", "srv"):
        command = [sys.executable, script, images["tidegate"], out, "app:1", f"{tmp_path}={target}"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2 and f"`{target}`" in done.stderr
    assert not out.exists()


def test_the_recipe_of_two_stages_has_every_file_of_its_app(tidegate) -> None:
    folder = ROOT / "packaging/model-image"
    app = ROOT / "examples/fastapi-cluster"
    named = set(re.findall(r"\$app/(\w+\.py)=", (folder / "build.sh").read_text()))
    assert named == {path.name for path in app.glob("*.py")} - {"gunicorn_conf.py"}
    check = [tidegate, "config", "print", "-c", folder / "tidegate.toml"]
    assert 'app_dir = "/srv/app"' in run(*check)
