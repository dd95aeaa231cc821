"""Adds a layer to an image: `add.py BASE OUT NAME:TAG SOURCE=TARGET...`.

Each source is a file or a directory of this machine, and its target an absolute path. It prints the
layers, and how much of the image must be sent to who has the one that OUT was before.
Invariant: the layers of BASE stay as they are, byte by byte.
"""

import argparse
import shlex
from pathlib import Path

from oci import LEVELS, Entries, Image, digest, layer, load, save, tree

# A layer here would give the directories to root, or put a directory in place of a link.
WRITTEN = ["/var/lib/tidegate", "/tmp"]
LINKS = ["/bin", "/sbin", "/lib", "/lib64"]


def main() -> None:
    options = read()
    image = load(options.base)
    entries: Entries = {}
    for source, target in options.content:
        entries |= tree(source, target)
    name, tag = options.name.rsplit(":", 1)
    image.layers.append(layer(name, entries, LEVELS[options.quick]))
    image.run["Env"] += options.env
    if options.command:
        image.run["Cmd"] = shlex.split(options.command)
    before = load(options.out) if options.out.exists() else Image({})
    save(image, name, tag, options.out)
    for one in image.layers:
        print(f"{len(one.packed):>12,} bytes  {one.about}")
    print(shipped(before, image))


def read() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Adds a layer to an image.")
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("name", metavar="NAME:TAG")
    parser.add_argument("content", metavar="SOURCE=TARGET", nargs="+", type=pair)
    parser.add_argument("--env", metavar="NAME=VALUE", action="append", default=[])
    parser.add_argument("--command", help="what a container runs, unless it is told otherwise")
    parser.add_argument("--quick", action="store_true", help="compress little")
    return parser.parse_args()


def pair(text: str) -> tuple[Path, str]:
    source, target = text.split("=", 1)
    if not Path(source).exists():
        raise argparse.ArgumentTypeError(f"there is no `{source}`")
    if not target.startswith("/"):
        raise argparse.ArgumentTypeError(f"`{target}` does not begin with `/`")
    if any(Path(target).is_relative_to(place) for place in WRITTEN):
        raise argparse.ArgumentTypeError(f"`{target}` is where containers write, under a volume")
    if any(Path(target).is_relative_to(link) for link in LINKS):
        raise argparse.ArgumentTypeError(f"`{target}` is behind a link: begin with `/usr`")
    return Path(source), target


def shipped(before: Image, after: Image) -> str:
    there = {digest(layer.packed) for layer in before.layers}
    new = [layer for layer in after.layers if digest(layer.packed) not in there]
    size, whole = sum(len(layer.packed) for layer in new), after.packed_size()
    of = f"of {whole:,} bytes" if before.layers else "bytes, as nobody has an earlier one"
    return f"to send: {len(new)} of {len(after.layers)} layers, {size:,} {of}"


if __name__ == "__main__":
    main()
