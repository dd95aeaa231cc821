"""Claims about docs/deploying/verify.md: its commands run as written, and print what it shows."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, VERSION

PACKAGE = f"tidegate_{VERSION}_amd64.deb"
PAGE = (ROOT / "docs/deploying/verify.md").read_text()
# They take a release build, or two.
TOO_LONG = {
    "cargo xtask package deb",
    "cargo xtask package reproduce",
    f"sha256sum target/package/{PACKAGE}",
}


def examples() -> dict[str, str]:
    """Each command of the page with what is shown of its output."""
    found = {}
    for block in re.findall(r"^```\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = example.partition("\n")
            found[command] = shown
    return found


def pattern(shown: str) -> str:
    """An ellipsis stands for the rest of a line, and as a line for any lines."""
    texts = (re.escape(line).replace("…", ".+") for line in shown.splitlines())
    return "".join("(?:.*\n)+" if text == ".+" else f"{text}\n" for text in texts)


def xtask(*words: str | Path) -> None:
    run = subprocess.run(["cargo", "xtask", "package", *words], cwd=ROOT, capture_output=True)
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def release(tidegate, tmp_path_factory) -> Path:
    """What somebody has downloaded, of this very program."""
    folder = tmp_path_factory.mktemp("release")
    xtask("deb", "--quick", "--binary", tidegate, "--to", folder)
    xtask("sbom", "--to", folder)
    xtask("sums", "--to", folder)
    return folder


def shell(command: str, folder: Path, program: Path) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    return subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("command", [c for c in examples() if c not in TOO_LONG])
def test_the_page_shows_what_its_command_prints(release, tidegate, command) -> None:
    run = shell(command, ROOT if command.startswith("cargo") else release, tidegate)
    assert run.returncode == 0, run.stderr
    assert re.fullmatch(pattern(examples()[command]), run.stdout), run.stdout


def test_every_command_that_is_left_out_is_on_the_page() -> None:
    assert examples().keys() >= TOO_LONG


def test_a_changed_package_is_told(release, tidegate, tmp_path) -> None:
    for file in release.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    package = tmp_path / PACKAGE
    package.write_bytes(package.read_bytes()[:-1] + b"x")
    command = next(command for command in examples() if "--check" in command)
    run = shell(command, tmp_path, tidegate)
    assert run.returncode == 1
    assert f"{PACKAGE}: FAILED" in run.stdout
