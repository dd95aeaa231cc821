"""Claims about the wheel, made of this very program, and installed without a network."""

import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import ROOT, VERSION
from packaging.metadata import Metadata
from packaging.utils import parse_wheel_filename


def make(program: Path, folder: Path) -> Path:
    folder.mkdir()
    (folder / f"tidegate_{VERSION}_third-party.txt").write_text("Copyright others\n")
    script = ROOT / "packaging/make/wheel.py"
    command = [sys.executable, script, program, folder, VERSION, "--quick"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return Path(run.stdout.strip())


@pytest.fixture(scope="module")
def wheel(tidegate, tmp_path_factory) -> Path:
    return make(tidegate, tmp_path_factory.mktemp("wheel") / "first")


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The programs of a fresh environment that has the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    pip = [folder / "bin/python", "-m", "pip", "install", "--no-index", "--no-cache-dir", wheel]
    run = subprocess.run(pip, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return folder / "bin"


def test_the_wheel_brings_the_program_and_the_package(installed, tmp_path) -> None:
    config = tmp_path / "tidegate.toml"
    config.write_text('[[route]]\npath = "/{*rest}"\nto = "models"\n')
    for command, told in [
        ([installed / "tidegate", "--version"], f"tidegate {VERSION}"),
        ([installed / "tidegate", "config", "check", "-c", config], "no errors"),
        (
            [installed / "python", "-c", "import tidegate; print(tidegate.__file__)"],
            "site-packages",
        ),
        ([installed / "python", "-c", "from tidegate import LinearModel, share"], ""),
    ]:
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert run.returncode == 0, run.stderr
        assert told in run.stdout


def test_two_wheels_of_one_program_are_the_same(tidegate, wheel, tmp_path) -> None:
    again = make(tidegate, tmp_path / "second")
    assert again.name == wheel.name
    assert again.read_bytes() == wheel.read_bytes(), "two wheels differ"


def test_the_tag_names_the_glibc_that_the_program_needs(wheel, installed) -> None:
    run = subprocess.run(
        ["objdump", "-T", installed / "tidegate"], capture_output=True, text=True, check=True
    )
    needed = {tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", run.stdout)}
    named = re.search(r"manylinux_(\d+)_(\d+)_", wheel.name)
    assert named and max(needed) == (int(named[1]), int(named[2]))
    (tag,) = parse_wheel_filename(wheel.name)[3]
    with zipfile.ZipFile(wheel) as archive:
        told = Parser().parsestr(archive.read(f"tidegate-{VERSION}.dist-info/WHEEL").decode())
    assert told["Tag"] == str(tag)


def test_the_metadata_are_valid_and_those_of_the_package(wheel) -> None:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"tidegate-{VERSION}.dist-info/METADATA")
        licence = archive.read(f"tidegate-{VERSION}.dist-info/licenses/LICENSE")
    metadata = Metadata.from_email(text)
    assert (metadata.name, str(metadata.version)) == ("tidegate", VERSION)
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description
    places = re.findall(r"\]\((.*?)\)", metadata.description)
    assert places and [place for place in places if not place.startswith(("#", "https://"))] == []
    assert texts(metadata.description) == texts((ROOT / "python/README.md").read_text())
    assert licence == (ROOT / "LICENSE").read_bytes()


def texts(page: str) -> str:
    """A page with the text of each link in its place."""
    return re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", page)


def test_the_wheel_has_the_licences_of_what_is_linked(wheel) -> None:
    with zipfile.ZipFile(wheel) as archive:
        about = f"tidegate-{VERSION}.dist-info"
        assert archive.read(f"{about}/licenses/third-party.txt") == b"Copyright others\n"
        metadata = Parser().parsestr(archive.read(f"{about}/METADATA").decode())
    assert metadata.get_all("License-File") == ["LICENSE", "third-party.txt"]


def test_every_file_of_the_package_is_in_the_wheel(wheel) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if name.startswith("tidegate/")}
    files = [path for path in (ROOT / "python/tidegate").rglob("*") if path.is_file()]
    files = [path for path in files if "__pycache__" not in path.parts]
    assert names == {str(path.relative_to(ROOT / "python")) for path in files}


def test_a_program_with_libraries_that_not_every_linux_has_is_refused(tmp_path) -> None:
    nginx = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert nginx, "run `cargo xtask setup --test`"
    script = ROOT / "packaging/make/wheel.py"
    command = [sys.executable, script, nginx, tmp_path, VERSION]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert re.search(r"error: not every Linux has .*libssl\.so", run.stderr)
    assert list(tmp_path.iterdir()) == []
