"""Tensors of the Open Inference Protocol, version 2, as numpy arrays: in JSON, and in Triton's
binary form (`Inference-Header-Content-Length`).

Invariant: an array that is returned has the shape and the data type that the request names; a
body that says anything else raises `BadRequest`, whose text names the tensor.
"""

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

DTYPES: dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "FP32": np.float32,
    "FP64": np.float64,
    "BYTES": np.object_,
}
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
LENGTH = struct.Struct("<I")


class BadRequest(ValueError):
    """The body is not a request of the protocol, or does not fit the model."""


class Request:
    """What an `infer` request says: its inputs, and which outputs it wants in which form."""

    def __init__(self, body: bytes, json_bytes: int | None) -> None:
        head = body if json_bytes is None else body[:json_bytes]
        if json_bytes is not None and json_bytes > len(body):
            raise BadRequest(f"the body has {len(body)} bytes, fewer than its JSON part")
        document = parsed(head)
        self.id = document.get("id")
        if self.id is not None and not isinstance(self.id, str):
            raise BadRequest("`id` is not a text")
        self.binary = bool(parameters(document).get("binary_data_output", False))
        self.inputs: dict[str, Array] = {}
        rest = memoryview(body)[len(head) :]
        for tensor in listed(document, "inputs"):
            name = text_of(tensor, "name", "an input")
            if name in self.inputs:
                raise BadRequest(f"input `{name}` comes twice")
            self.inputs[name], taken = array_of(name, tensor, rest)
            rest = rest[taken:]
        if len(rest) > 0:
            raise BadRequest(f"{len(rest)} bytes are left over behind the last input")
        self.outputs = {
            text_of(output, "name", "an output"): bool(
                parameters(output).get("binary_data", self.binary)
            )
            for output in listed(document, "outputs", optional=True)
        }


def parsed(head: bytes) -> dict[str, Any]:
    try:
        document = json.loads(head)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadRequest("the body is not an object")
    return document


def parameters(of: Mapping[str, Any]) -> Mapping[str, Any]:
    found = of.get("parameters") or {}
    if not isinstance(found, dict):
        raise BadRequest("`parameters` is not an object")
    return found


def listed(document: Mapping[str, Any], key: str, optional: bool = False) -> list[dict[str, Any]]:
    found = document.get(key)
    if found is None and optional:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise BadRequest(f"`{key}` is not a list of objects")
    return found


def text_of(tensor: Mapping[str, Any], key: str, what: str) -> str:
    found = tensor.get(key)
    if not isinstance(found, str):
        raise BadRequest(f"`{key}` of {what} is not a text")
    return found


def array_of(name: str, tensor: Mapping[str, Any], rest: memoryview) -> tuple[Array, int]:
    """The array of an input, and how many bytes of the binary part it took."""
    datatype = text_of(tensor, "datatype", f"input `{name}`")
    if datatype not in DTYPES:
        raise BadRequest(
            f"input `{name}`: no data type `{datatype}`; there are {', '.join(DTYPES)}"
        )
    shape = tensor.get("shape")
    if not isinstance(shape, list) or not all(is_size(size) for size in shape):
        raise BadRequest(f"input `{name}`: `shape` is not a list of sizes")
    size = parameters(tensor).get("binary_data_size")
    if size is None:
        return from_json(name, tensor.get("data"), datatype, shape), 0
    if not is_size(size) or size > len(rest):
        raise BadRequest(f"input `{name}`: `binary_data_size` is not the size of what follows")
    return from_bytes(name, rest[:size], datatype, shape), size


def is_size(size: Any) -> bool:
    return isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 40


def from_json(name: str, data: Any, datatype: str, shape: list[int]) -> Array:
    if not isinstance(data, list):
        raise BadRequest(f"input `{name}`: `data` is not a list")
    dtype = np.dtype(DTYPES[datatype])
    try:
        if datatype == "BYTES":
            found = np.array(flat(data), np.object_)
            if not all(isinstance(each, str) for each in found):
                raise BadRequest(f"input `{name}`: `data` of BYTES is not texts")
        elif datatype.startswith("FP"):
            # `null` is NaN, which JSON's numbers cannot say.
            found = np.array(data, np.float64).ravel().astype(dtype)
        else:
            exact = np.array(data).ravel()
            found = exact.astype(dtype)
            if exact.size > 0 and not np.array_equal(exact, found):
                raise BadRequest(f"input `{name}`: a value does not fit {datatype}")
    except (ValueError, TypeError, OverflowError) as error:
        if isinstance(error, BadRequest):
            raise
        raise BadRequest(f"input `{name}`: `data` is not {datatype}: {error}") from error
    return shaped(name, found, shape)


def flat(data: list[Any]) -> list[Any]:
    """The values of nested lists, in order."""
    values: list[Any] = []
    stack: list[Any] = [data]
    while stack:
        last = stack.pop()
        if isinstance(last, list):
            stack.extend(reversed(last))
        else:
            values.append(last)
    return values


def from_bytes(name: str, data: memoryview, datatype: str, shape: list[int]) -> Array:
    if datatype != "BYTES":
        dtype = np.dtype(DTYPES[datatype]).newbyteorder("<")
        if len(data) % dtype.itemsize != 0:
            raise BadRequest(f"input `{name}`: {len(data)} bytes are no whole {datatype}")
        return shaped(name, np.frombuffer(data, dtype), shape)
    texts: list[str] = []
    while len(data) > 0:
        if len(data) < LENGTH.size:
            raise BadRequest(f"input `{name}`: the length of text {len(texts)} is cut off")
        (length,) = LENGTH.unpack_from(data)
        text = data[LENGTH.size : LENGTH.size + length]
        if len(text) < length:
            raise BadRequest(f"input `{name}`: text {len(texts)} is cut off")
        try:
            texts.append(bytes(text).decode())
        except UnicodeDecodeError as error:
            raise BadRequest(f"input `{name}`: text {len(texts)} is not UTF-8") from error
        data = data[LENGTH.size + length :]
    return shaped(name, np.array(texts, np.object_), shape)


def shaped(name: str, found: Array, shape: list[int]) -> Array:
    expected = int(np.prod(np.array(shape, np.object_))) if shape else 1
    if found.size != expected:
        raise BadRequest(f"input `{name}`: {found.size} values do not fill the shape {shape}")
    return found.reshape(shape)


def reply(
    head: dict[str, Any], outputs: Iterable[tuple[str, Array, bool]]
) -> tuple[bytes, int | None]:
    """The body of an answer, and the length of its JSON part where a binary one follows."""
    tensors = []
    pieces: list[bytes] = []
    for name, array, binary in outputs:
        datatype = NAMES.get(array.dtype, "BYTES")
        tensor: dict[str, Any] = {"name": name, "shape": list(array.shape), "datatype": datatype}
        if binary:
            pieces.append(to_bytes(array, datatype))
            tensor["parameters"] = {"binary_data_size": len(pieces[-1])}
        else:
            tensor["data"] = to_json(array, datatype)
        tensors.append(tensor)
    document = json.dumps(head | {"outputs": tensors}, allow_nan=False).encode()
    if not pieces:
        return document, None
    return b"".join([document, *pieces]), len(document)


def to_json(array: Array, datatype: str) -> list[Any]:
    if datatype == "BYTES":
        return [str(value) for value in array.ravel()]
    if datatype.startswith("FP"):
        return [value if np.isfinite(value) else None for value in array.ravel().tolist()]
    values: list[Any] = array.ravel().tolist()
    return values


def to_bytes(array: Array, datatype: str) -> bytes:
    if datatype != "BYTES":
        return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
    texts = [str(value).encode() for value in array.ravel()]
    return b"".join(LENGTH.pack(len(text)) + text for text in texts)
