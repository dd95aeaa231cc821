"""Writes images, and adds layers to them: what the OCI's image specification calls a layout.

An image is one archive, which `docker load`, `podman load` and skopeo read: blobs, the index of the
OCI, and `manifest.json` for Docker before 25.
Invariant: the same entries give the same bytes. They are sorted and have one time, and a layer
begins with nothing that an earlier one has, so a changed layer leaves the others as they are.
"""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from program import made_at

Json = dict[str, Any]
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Levels of gzip: of an image for others, and of one that is only looked at.
LEVELS = [9, 1]
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"


@dataclass(frozen=True)
class Entry:
    """A file, a directory (no data) or a symbolic link of a layer."""

    mode: int
    data: bytes | None = None
    link: str | None = None
    owner: int = 0


Entries = dict[str, Entry]


@dataclass(frozen=True)
class Layer:
    """A layer as it is sent, and the digest of what it unpacks to."""

    packed: bytes
    unpacked_digest: str
    unpacked_size: int
    about: str


@dataclass
class Image:
    """Layers, the lowest first, and how a container of them is run."""

    run: Json
    layers: list[Layer] = field(default_factory=list)

    def packed_size(self) -> int:
        return sum(len(layer.packed) for layer in self.layers)


def layer(about: str, entries: Entries, level: int) -> Layer:
    """Packs entries, by absolute path."""
    unpacked = archive(entries)
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", level, packed, mtime=0) as stream:
        stream.write(unpacked)
    return Layer(packed.getvalue(), digest(unpacked), len(unpacked), about)


def archive(entries: Entries) -> bytes:
    """An archive of entries; directories that lead to them are made, as some readers make none."""
    parents = {str(parent): Entry(0o755) for path in entries for parent in Path(path).parents}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, entry in sorted((parents | entries).items()):
            if path != "/":
                add(tar, path.lstrip("/"), entry)
    return packed.getvalue()


def add(tar: tarfile.TarFile, name: str, entry: Entry) -> None:
    info = tarfile.TarInfo(name)
    info.mode, info.mtime = entry.mode, made_at()
    info.uid = info.gid = entry.owner
    if entry.link is not None:
        info.type, info.linkname = tarfile.SYMTYPE, entry.link
    elif entry.data is None:
        info.type = tarfile.DIRTYPE
    else:
        info.size = len(entry.data)
    tar.addfile(info, io.BytesIO(entry.data or b""))


def tree(source: Path, target: str) -> Entries:
    """A file or directory of this machine as entries, owned by root and readable by all."""
    entries = {}
    for path in [source, *source.rglob("*")]:
        if "__pycache__" in path.parts:
            continue
        name = str(Path(target) / path.relative_to(source))
        if path.is_symlink():
            entries[name] = Entry(0o777, link=str(path.readlink()))
        elif path.is_dir():
            entries[name] = Entry(0o755)
        else:
            mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
            entries[name] = Entry(mode, path.read_bytes())
    return entries


def save(image: Image, name: str, tag: str, file: Path) -> None:
    """Writes the archive."""
    created = datetime.fromtimestamp(made_at(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    blobs: dict[str, bytes] = {}

    def blob(data: bytes, media: str) -> Json:
        blobs[digest(data)] = data
        return {"mediaType": media, "digest": digest(data), "size": len(data)}

    layers = [blob(layer.packed, LAYER) for layer in image.layers]
    config = {
        "created": created,
        "architecture": ARCHITECTURES[platform.machine()],
        "os": "linux",
        "config": image.run,
        "rootfs": {
            "type": "layers",
            "diff_ids": [layer.unpacked_digest for layer in image.layers],
        },
        "history": [{"created": created, "created_by": layer.about} for layer in image.layers],
    }
    config = blob(as_bytes(config), CONFIG)
    head = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": layers}
    head = blob(as_bytes(head), MANIFEST)
    head["annotations"] = {
        "io.containerd.image.name": f"docker.io/library/{name}:{tag}",
        "org.opencontainers.image.ref.name": tag,
    }
    older = {
        "Config": place(config["digest"]),
        "RepoTags": [f"{name}:{tag}"],
        "Layers": [place(layer["digest"]) for layer in layers],
    }
    index = {"schemaVersion": 2, "manifests": [head]}
    files = {place(found): data for found, data in blobs.items()} | {
        "index.json": as_bytes(index),
        "manifest.json": as_bytes([older]),
        "oci-layout": as_bytes({"imageLayoutVersion": "1.0.0"}),
    }
    file.write_bytes(archive({f"/{path}": Entry(0o644, data) for path, data in files.items()}))


def load(file: Path) -> Image:
    """Reads an archive that `save` has written."""
    with tarfile.open(file) as tar:

        def read(path: str) -> bytes:
            found = tar.extractfile(path)
            assert found, path
            return found.read()

        (head,) = json.loads(read("index.json"))["manifests"]
        manifest = json.loads(read(place(head["digest"])))
        config = json.loads(read(place(manifest["config"]["digest"])))
        image = Image(config["config"])
        digests = config["rootfs"]["diff_ids"]
        for at, unpacked, told in zip(manifest["layers"], digests, config["history"], strict=True):
            packed = read(place(at["digest"]))
            size = len(gzip.decompress(packed))
            image.layers.append(Layer(packed, unpacked, size, told["created_by"]))
        return image


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def place(digest: str) -> str:
    return "blobs/" + digest.replace(":", "/")


def as_bytes(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
