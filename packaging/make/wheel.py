"""Makes a wheel of a program that is built: `wheel.py BINARY DIR VERSION [--quick]`.

The wheel has the program as a script, and the Python package of `python/`. Its tag names the oldest
glibc that the program runs with. `cargo xtask package wheel` calls it, and it prints the path.
Invariant: the same program gives the same bytes; entries are sorted, and have one time.
Refuses: a program with libraries that not every Linux has (PEP 600).
"""

import base64
import hashlib
import platform
import re
import sys
import time
import zipfile
from pathlib import Path

import tomllib
from program import ROOT, libraries, made_at, notices, oldest_glibc, stripped, told_by

# What PEP 600 lets a wheel ask for, of all that a program in Rust may need.
EVERYWHERE = {
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
# The aim for a release; a larger one is made, with a word about it.
BYTES_AIM = 20_000_000

# Levels of deflate: of a wheel for others, and of one that is only looked at.
LEVELS = [9, 1]

Files = dict[str, tuple[int, bytes]]


def main() -> None:
    binary, folder, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    project = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["project"]
    if project["version"] != version:
        raise SystemExit(
            f"error: python/pyproject.toml has version {project['version']}, the program {version}"
        )
    foreign = set(libraries(binary)) - EVERYWHERE
    if foreign:
        raise SystemExit(f"error: not every Linux has {', '.join(sorted(foreign))}")
    major, minor = oldest_glibc(binary)
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    name = f"tidegate-{version}"
    files = package() | {f"{name}.data/scripts/tidegate": (0o755, stripped(binary))}
    files |= about(f"{name}.dist-info", project, tag, notices(folder, version))
    wheel = folder / f"{name}-{tag}.whl"
    is_quick = "--quick" in sys.argv
    write(wheel, files, LEVELS[is_quick])
    if not is_quick:
        # The same format, and 3 % smaller: it tries more ways to say the same.
        told_by("advzip", "--recompress", "--shrink-normal", wheel)
    print(wheel)
    size = wheel.stat().st_size
    if size > BYTES_AIM:
        print(f"note: {size / 1e6:.1f} MB, more than the aim of 20 MB", file=sys.stderr)


def package() -> Files:
    """The Python package; the program has the same files in it."""
    folder = ROOT / "python/tidegate"
    found = [path for path in folder.rglob("*") if path.suffix == ".py" or path.name == "py.typed"]
    return {
        str(path.relative_to(folder.parent)): (0o644, path.read_bytes()) for path in sorted(found)
    }


def about(folder: str, project: dict, tag: str, notices: bytes) -> Files:
    """What pip reads: PEP 639's metadata, the tag, the licences."""
    fields = [
        ("Metadata-Version", "2.4"),
        ("Name", project["name"]),
        ("Version", project["version"]),
        ("Summary", project["description"]),
        ("License-Expression", project["license"]),
        ("License-File", "LICENSE"),
        ("License-File", "third-party.txt"),
        *(("Classifier", classifier) for classifier in project["classifiers"]),
        ("Requires-Python", project["requires-python"]),
        ("Description-Content-Type", "text/markdown"),
    ]
    # Links to other files of the repository lead nowhere from PyPI: their text stays.
    readme = (ROOT / "python" / project["readme"]).read_text()
    readme = re.sub(r"\[([^]]+)\]\(\.\./[^)]+\)", r"\1", readme)
    metadata = "".join(f"{field}: {value}\n" for field, value in fields) + f"\n{readme}"
    wheel = f"Wheel-Version: 1.0\nGenerator: tidegate\nRoot-Is-Purelib: false\nTag: {tag}\n"
    return {
        f"{folder}/METADATA": (0o644, metadata.encode()),
        f"{folder}/WHEEL": (0o644, wheel.encode()),
        f"{folder}/licenses/LICENSE": (0o644, (ROOT / "LICENSE").read_bytes()),
        f"{folder}/licenses/third-party.txt": (0o644, notices),
    }


def write(wheel: Path, files: Files, level: int) -> None:
    """Writes the archive; its last entry lists the others with their hashes."""
    record = wheel.name.split("-py3-")[0] + ".dist-info/RECORD"
    lines = [f"{name},sha256={digest(data)},{len(data)}" for name, (_, data) in files.items()]
    lines = [*sorted(lines), f"{record},,"]
    entries = [*sorted(files.items()), (record, (0o644, "\n".join([*lines, ""]).encode()))]
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, (mode, data) in entries:
            entry = zipfile.ZipInfo(name, time.gmtime(made_at())[:6])
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, level)


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
