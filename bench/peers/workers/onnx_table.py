"""Writes an ONNX model by hand: a table of embeddings of which rows are gathered.

The fields are those of onnx.proto3; the package `onnx` itself would be needed for nothing else.
"""

from pathlib import Path

FLOAT, INT64 = 1, 7


def written(path: str, rows: int, columns: int) -> str:
    """Returns the file's name, written if it is not there."""
    file = Path(path)
    if not file.exists():
        part = file.with_suffix(f".{id(file)}.part")
        part.write_bytes(model(rows, columns))
        part.rename(file)
    return path


def model(rows: int, columns: int) -> bytes:
    """Returns the model: input `rows`, output `embeddings`."""
    node = text(1, "table") + text(1, "rows") + text(2, "embeddings") + text(4, "Gather")
    half = b"\x00\x00\x00\x3f"  # 0.5 in little endian
    table = number(1, rows) + number(1, columns) + number(2, FLOAT) + text(8, "table")
    table += field(9, half * (rows * columns))
    graph = field(1, node) + text(2, "bench") + field(5, table)
    graph += field(11, value("rows", INT64, 1)) + field(12, value("embeddings", FLOAT, 2))
    opset = number(2, 17)
    return number(1, 8) + field(7, graph) + field(8, opset)


def value(name: str, kind: int, rank: int) -> bytes:
    """A tensor's name and type, its dimensions unknown."""
    shape = b"".join(field(1, text(2, f"{name}{axis}")) for axis in range(rank))
    return text(1, name) + field(2, field(1, number(1, kind) + field(2, shape)))


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def number(tag: int, value: int) -> bytes:
    return varint(tag << 3) + varint(value)


def field(tag: int, data: bytes) -> bytes:
    return varint(tag << 3 | 2) + varint(len(data)) + data


def text(tag: int, value: str) -> bytes:
    return field(tag, value.encode())
