"""Reads what a program needs, and strips it: the part that wheel and images share.

Invariant: the same program gives the same bytes, at the time of the last entry in the changelog.
It needs `readelf` and `strip` of binutils, and `ldd`.
"""

import os
import re
import shutil
import subprocess
import tempfile
from email.utils import parsedate_to_datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Debian's packages of tools that are called otherwise.
PACKAGES = {"readelf": "binutils", "strip": "binutils", "ldd": "libc-bin", "advzip": "advancecomp"}
# What these tools print is read.
ENVIRONMENT = os.environ | {"LC_ALL": "C"}


def told_by(*command: str | Path) -> str:
    """What a command prints."""
    if shutil.which(command[0]) is None:
        package = PACKAGES.get(str(command[0]), str(command[0]))
        raise SystemExit(
            f"error: `{command[0]}` is missing; install it with: apt-get install -y {package}"
        )
    run = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if run.returncode != 0:
        raise SystemExit(f"error: `{' '.join(map(str, command))}`: {run.stderr.strip()}")
    return run.stdout


def made_at() -> int:
    """The time of everything that is packed, in seconds since 1970."""
    changelog = (ROOT / "packaging/deb/changelog").read_text()
    written = re.search(r"^ -- .*>  (.*)$", changelog, re.MULTILINE)
    assert written, "the changelog has an entry"
    return int(parsedate_to_datetime(written[1]).timestamp())


def notices(folder: Path, version: str) -> bytes:
    """The licences of what is linked, as `cargo xtask package notices` writes them."""
    file = folder / f"tidegate_{version}_third-party.txt"
    if not file.exists():
        raise SystemExit(f"error: no `{file}`; write it: cargo xtask package notices --to {folder}")
    return file.read_bytes()


def stripped(program: Path) -> bytes:
    """The program without what only debuggers read."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / program.name
        shutil.copyfile(program, copy)
        told_by("strip", "--strip-unneeded", "--remove-section=.comment", copy)
        return copy.read_bytes()


def oldest_glibc(program: Path) -> tuple[int, int]:
    """The oldest C library that has every symbol of the program."""
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", told_by("readelf", "--version-info", program))
    if not versions:
        raise SystemExit(f"error: `{program}` asks for no version of glibc")
    return max((int(major), int(minor)) for major, minor in versions)


def libraries(program: Path) -> list[str]:
    """The names of the libraries that the program itself asks for."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", told_by("readelf", "--dynamic", program))


def library_files(program: Path) -> list[Path]:
    """Every file of the libraries, with the loader, where the system finds them."""
    found = re.findall(r"(/\S+) \(0x", told_by("ldd", program))
    return sorted(Path(path) for path in found)
