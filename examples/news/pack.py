"""Packs the downloaded source files into `raw/`, small enough to keep in the repository.

Nothing is dropped but the order of msnbc's anonymous lines: equal reading paths become one
line `count<TAB>codes`. Run this only to renew `raw/`; the other scripts start from `raw/`.
"""

import argparse
import collections
import gzip
import lzma
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Reads the two source folders and writes the four files of `raw/`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("news", type=Path, help="folder of headlines.csv and the msnbc paths")
    parser.add_argument("msweb", type=Path, help="folder of anonymous-msweb.data and .test")
    parser.add_argument("--out", type=Path, default=HERE / "raw", help="folder to write")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "headlines.csv.xz", (options.news / "headlines.csv").read_bytes())
    for part in ("data", "test"):
        content = (options.msweb / f"anonymous-msweb.{part}").read_bytes()
        write(options.out / f"anonymous-msweb.{part}.xz", content)
    paths = gzip.decompress((options.news / "msnbc_first_visit_order.txt.gz").read_bytes())
    write(options.out / "msnbc_paths.tsv.xz", count_paths(paths.decode("ascii")))


def count_paths(text: str) -> bytes:
    """Returns `count<TAB>codes` lines, the commonest path first, ties by the path."""
    counts = collections.Counter(" ".join(line.split()) for line in text.splitlines())
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return "".join(f"{count}\t{path}\n" for path, count in ranked).encode("ascii")


def write(path: Path, content: bytes) -> None:
    """Compresses `content` into `path` and prints both sizes."""
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    print(f"{path.name}: {len(content)} bytes, {path.stat().st_size} packed")


if __name__ == "__main__":
    main()
