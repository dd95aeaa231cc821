"""Makes the images of a program that is built: `images.py BINARY DIR VERSION [--quick]`.

`tidegate` has the program and the libraries that it asks for; `tidegate-python` has Debian's Python
besides, for apps in workers. `cargo xtask package image` calls it. It prints path and size of each.
All but the program comes from installed packages of this Debian. Scanners find them, with their
versions, in `/var/lib/dpkg/status.d`, and `/etc/os-release` says whose versions these are. Their
licences are there.
Invariant: layers go from what changes seldom to what changes often, so the program is the last.
Refuses: an image that is larger than its bound.
"""

import sys
from pathlib import Path

from oci import LEVELS, Entries, Entry, Image, Layer, layer, save
from program import ROOT, library_files, notices, stripped, told_by

USER = 10001
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Without it, a scanner knows no package's distribution, and reports no vulnerability.
RELEASE = ["/etc/debian_version", "/etc/os-release", "/usr/lib/os-release"]
DATA = "/var/lib/tidegate"
# Of a release, as it is sent: megabytes of all layers.
MEGABYTES_MAX = {"tidegate": 30, "tidegate-python": 76}
# Where Debian has links since its directories are merged.
MERGED = {"/bin": "usr/bin", "/sbin": "usr/sbin", "/lib": "usr/lib", "/lib64": "usr/lib64"}
NAMES = {
    "/etc/passwd": "root:x:0:0:root:/:/sbin/nologin\n"
    f"tidegate:x:{USER}:{USER}:Tidegate:{DATA}:/sbin/nologin\n",
    "/etc/group": f"root:x:0:\ntidegate:x:{USER}:\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}
RUN = {
    "User": f"{USER}:{USER}",
    "WorkingDir": DATA,
    "Cmd": ["tidegate", "serve", "-c", f"{DATA}/tidegate.toml"],
    "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"],
    "ExposedPorts": {"8080/tcp": {}},
    "Volumes": {DATA: {}},
    "StopSignal": "SIGTERM",
}
# What wheels of PyPI take for granted (PEP 600), besides what the program asks for; and the time
# zones of `zoneinfo`.
BESIDE_PYTHON = ["libstdc++6", "tzdata"]
OF_GLIBC = ["libdl.so.2", "libpthread.so.0", "libresolv.so.2", "librt.so.1", "libutil.so.1"]
# Modules whose libraries would be larger than their use; Python 3.13 has the first no more.
LEFT_OUT = ("/nis.cpython",)
NO_USE = (
    *(f"/usr/share/{name}/" for name in ("doc", "man", "lintian", "gdb")),
    # Each time zone a second time, and a third time with leap seconds.
    *(f"/usr/share/zoneinfo/{name}/" for name in ("posix", "right")),
)


def main() -> None:
    binary, folder, version = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    quick = "--quick" in sys.argv
    level = LEVELS[quick]
    base = layer("libraries and certificates", libraries_of(binary), level)
    python = layer("Python", python_beside(binary), level)
    own = {
        "/usr/local/bin/tidegate": Entry(0o755, stripped(binary)),
        "/usr/share/doc/tidegate/LICENSE": Entry(0o644, (ROOT / "LICENSE").read_bytes()),
        "/usr/share/doc/tidegate/third-party.txt": Entry(0o644, notices(folder, version)),
    }
    program = layer(f"tidegate {version}", own, level)
    for name, layers in [
        ("tidegate", [base, program]),
        ("tidegate-python", [base, python, program]),
    ]:
        make(name, version, layers, folder, quick)


def make(name: str, version: str, layers: list[Layer], folder: Path, quick: bool) -> None:
    labels = {
        "org.opencontainers.image.title": name,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    image = Image(RUN | {"Labels": labels}, layers)
    megabytes, bound = image.packed_size() / 1e6, MEGABYTES_MAX[name]
    if megabytes > bound and not quick:
        raise SystemExit(f"error: {name} has {megabytes:.1f} MB, more than {bound}")
    file = folder / f"{name}-{version}-image.tar"
    save(image, name, version, file)
    print(file, f"{megabytes:.1f} MB")


def libraries_of(binary: Path) -> Entries:
    """What the program needs of the system, with a user and places to write."""
    entries = {path: Entry(0o777, link=link) for path, link in MERGED.items()}
    entries |= {path: Entry(0o644, text.encode()) for path, text in NAMES.items()}
    entries |= {DATA: Entry(0o750, owner=USER), "/tmp": Entry(0o1777)}
    entries |= {path: Entry(0o755) for path in ("/dev", "/proc", "/sys")}
    files = library_files(binary)
    if not CERTIFICATES.exists():
        raise SystemExit("error: no certificates; install them: apt-get install ca-certificates")
    entries |= {str(CERTIFICATES): Entry(0o644, CERTIFICATES.read_bytes())}
    entries |= {in_usr(path): Entry(0o755, path.read_bytes()) for path in files}
    entries |= {path: copied(Path(path)) for path in RELEASE}
    return entries | told_of({*owners(files), "ca-certificates", "base-files"})


def python_beside(binary: Path) -> Entries:
    """Debian's Python with its libraries, but for what the program needs, too."""
    name = Path("/usr/bin/python3").readlink().name
    packages = [f"{name}-minimal", f"lib{name}-minimal", f"lib{name}-stdlib", *BESIDE_PYTHON]
    # Its other files are for Debian's own packages.
    entries: Entries = {"/usr/bin/python3": copied(Path("/usr/bin/python3"))}
    for path in [Path(line) for line in told_by("dpkg", "-L", *packages).splitlines()]:
        text = str(path)
        if not text.startswith("/usr/") or text.startswith(NO_USE) or path.is_dir():
            continue
        if any(module in text for module in LEFT_OUT):
            continue
        entries[text] = copied(path)
    of_program = library_files(binary)
    there = {in_usr(path) for path in of_program}
    glibc = next(path.parent for path in of_program if path.name == "libc.so.6")
    elf = {path for path, entry in entries.items() if (entry.data or b"").startswith(b"\x7fELF")}
    files = {file for path in elf for file in library_files(Path(path))}
    files |= {glibc / name for name in OF_GLIBC}
    files = {path for path in files if in_usr(path) not in there}
    entries |= {in_usr(path): Entry(0o755, path.read_bytes()) for path in files}
    return entries | told_of({*owners(sorted(files)), *packages, "python3-minimal"})


def copied(path: Path) -> Entry:
    """A file or a link of this machine, as it is."""
    if path.is_symlink():
        return Entry(0o777, link=str(path.readlink()))
    return Entry(path.stat().st_mode & 0o777, path.read_bytes())


def in_usr(path: Path) -> str:
    """The path without the links of a merged /usr; the name stays that which is asked for."""
    return str(path.parent.resolve() / path.name)


def owners(files: list[Path]) -> set[str]:
    """The packages that the files belong to."""
    found = set()
    for path in files:
        # dpkg knows a file by the name that its package gave it, linked directory or not.
        names = [path.resolve(), Path("/", *path.resolve().parts[2:])]
        lines = told_by("sh", "-c", 'dpkg -S "$1" 2>/dev/null || dpkg -S "$2"', "sh", *names)
        found.add(lines.split(":")[0])
    return found


def told_of(packages: set[str]) -> Entries:
    """Each package's record with its files, where scanners look for them, and its licence."""
    entries = {}
    for package in packages:
        place = f"/var/lib/dpkg/status.d/{package}"
        record = told_by("dpkg-query", "--status", package)
        files = told_by("dpkg-query", "--control-show", package, "md5sums")
        entries[place] = Entry(0o644, record.encode())
        entries[f"{place}.md5sums"] = Entry(0o644, files.encode())
        licence = Path(f"/usr/share/doc/{package}/copyright")
        entries[str(licence)] = Entry(0o644, licence.read_bytes())
    return entries


if __name__ == "__main__":
    main()
