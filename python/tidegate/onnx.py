"""Any ONNX graph behind the Open Inference Protocol, by ONNX Runtime in a worker pool:

    [[upstream]]
    name        = "onnx"
    python      = "tidegate.onnx:app"
    preload     = "tidegate.onnx:load"
    environment = { ONNX_MODELS = "digits.onnx" }

`ONNX_MODELS` names files, or folders of them, with commas between; a model is called as its file
is, without `.onnx`. The pool's interpreter needs `numpy` and `onnxruntime`. The graph is loaded
once, and its weights are shared by all workers; each evaluates on one thread.

A model has one version, sixteen digits of its file's SHA-256.
"""

import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tidegate.tensors import NAMES, Array, BadRequest, Request, reply

PATH = re.compile(r"/v2/models/(?P<model>[^/]+)(/versions/(?P<version>[^/]+))?(?P<asked>/\w+)?/?")
ONNX_TYPES = {
    "tensor(bool)": np.bool_,
    "tensor(uint8)": np.uint8,
    "tensor(uint16)": np.uint16,
    "tensor(uint32)": np.uint32,
    "tensor(uint64)": np.uint64,
    "tensor(int8)": np.int8,
    "tensor(int16)": np.int16,
    "tensor(int32)": np.int32,
    "tensor(int64)": np.int64,
    "tensor(float16)": np.float16,
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(string)": np.object_,
}
LISTS = {
    "seq(tensor(float))": ("tensor(float)", 3),
    "seq(tensor(double))": ("tensor(double)", 3),
    "seq(tensor(int64))": ("tensor(int64)", 3),
    "seq(map(int64,tensor(float)))": ("tensor(float)", 2),
    "seq(map(string,tensor(float)))": ("tensor(float)", 2),
}
"""Lists that become a tensor: of which type, with how many dimensions."""
StartResponse = Callable[[str, list[tuple[str, str]]], Any]


class NotFound(LookupError):
    """No such model, version or path."""


class Model:
    """A graph, ready to be evaluated."""

    def __init__(self, file: Path) -> None:
        import onnxruntime

        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        # Threads do not survive a fork; more workers are how more cores are used.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        content = file.read_bytes()
        self.name = file.stem
        self.version = hashlib.sha256(content).hexdigest()[:16]
        # By its path: weights may stand in files beside it.
        self.session = onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"]
        )
        self.inputs = {tensor.name: tensor for tensor in self.session.get_inputs()}
        self.outputs = {tensor.name: tensor for tensor in self.session.get_outputs()}
        for tensor in [*self.inputs.values(), *self.outputs.values()]:
            known = {*ONNX_TYPES} if tensor.name in self.inputs else {*ONNX_TYPES, *LISTS}
            if tensor.type not in known:
                raise ValueError(f"`{file}`: `{tensor.name}` is {tensor.type}, not a tensor")

    def about(self) -> dict[str, Any]:
        """The model's metadata, as the protocol has it."""
        return {
            "name": self.name,
            "versions": [self.version],
            "platform": "onnxruntime_onnx",
            "inputs": [about(tensor) for tensor in self.inputs.values()],
            "outputs": [about(tensor) for tensor in self.outputs.values()],
        }

    def infer(self, request: Request) -> tuple[bytes, int | None]:
        """The body of the answer, and the length of its JSON part."""
        for name in request.outputs:
            if name not in self.outputs:
                raise BadRequest(f"no output `{name}`; there are {named(self.outputs)}")
        wanted = request.outputs or dict.fromkeys(self.outputs, request.binary)
        feeds = {name: self.fed(name, array) for name, array in request.inputs.items()}
        missing = [name for name in self.inputs if name not in feeds]
        if missing:
            raise BadRequest(f"input `{missing[0]}` is missing")
        try:
            found = self.session.run(list(wanted), feeds)
        except Exception as error:
            # ONNX Runtime has an exception of its own for each status; what the model was given
            # is what may be wrong with it here.
            raise BadRequest(f"`{self.name}` cannot be evaluated: {error}") from error
        head: dict[str, Any] = {"model_name": self.name, "model_version": self.version}
        if request.id is not None:
            head["id"] = request.id
        answers = zip(wanted.items(), found, strict=True)
        return reply(head, ((name, table(name, value), raw) for (name, raw), value in answers))

    def fed(self, name: str, array: Array) -> Array:
        """An input as the graph wants it: numbers of another type are taken where they fit."""
        if name not in self.inputs:
            raise BadRequest(f"no input `{name}`; there are {named(self.inputs)}")
        about = self.inputs[name]
        dtype = np.dtype(ONNX_TYPES[about.type])
        if (array.dtype == np.object_) != (dtype == np.object_):
            raise BadRequest(f"input `{name}` is {NAMES[dtype]}, not {NAMES[array.dtype]}")
        sizes = [size if isinstance(size, int) else None for size in about.shape]
        fits = len(sizes) == array.ndim and all(
            size in (None, given) for size, given in zip(sizes, array.shape, strict=True)
        )
        if not fits:
            raise BadRequest(f"input `{name}` has the shape {about.shape}, not {list(array.shape)}")
        cast = array.astype(dtype, copy=False)
        if dtype.kind != "f" and dtype != array.dtype and not np.array_equal(cast, array):
            raise BadRequest(f"input `{name}`: a value does not fit {NAMES[dtype]}")
        return cast


def table(name: str, value: Any) -> Array:
    """A value of ONNX Runtime as a tensor.

    Of a list of maps, which `ZipMap` gives, each is a row. Of a list of tables, which a
    `MultiOutputClassifier` gives, each is a second dimension.
    """
    if not isinstance(value, list):
        return np.asarray(value)
    if value and isinstance(value[0], dict):
        return np.array([list(row.values()) for row in value], dtype=np.float32)
    try:
        return np.stack(value, axis=1)
    except ValueError as error:
        raise BadRequest(f"output `{name}` holds tables of several shapes") from error


def about(tensor: Any) -> dict[str, Any]:
    kind, dimensions = LISTS.get(tensor.type, (tensor.type, 0))
    sizes = tensor.shape if dimensions == 0 else [None] * dimensions
    return {
        "name": tensor.name,
        "datatype": NAMES[np.dtype(ONNX_TYPES[kind])],
        "shape": [size if isinstance(size, int) else -1 for size in sizes],
    }


def named(tensors: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in tensors)


@functools.cache
def load() -> dict[str, Model]:
    """Loads what `ONNX_MODELS` names."""
    models: dict[str, Model] = {}
    for part in os.environ.get("ONNX_MODELS", "").split(","):
        path = Path(part.strip())
        if part.strip() == "":
            continue
        files = sorted(path.glob("*.onnx")) if path.is_dir() else [path]
        models |= {model.name: model for model in map(Model, files)}
    if not models:
        raise ValueError("`ONNX_MODELS` names no file; set it in the upstream's `environment`")
    return models


def app(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]:
    """The protocol, as a WSGI app."""
    try:
        status, body, json_bytes = answer(environ)
    except NotFound as error:
        status, body, json_bytes = "404 Not Found", refusal(error), None
    except BadRequest as error:
        status, body, json_bytes = "400 Bad Request", refusal(error), None
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    if json_bytes is not None:
        headers[0] = ("Content-Type", "application/octet-stream")
        headers.append(("Inference-Header-Content-Length", str(json_bytes)))
    if status.startswith("405"):
        headers.append(("Allow", "POST" if environ["PATH_INFO"].endswith("infer") else "GET"))
    start_response(status, headers)
    return [body]


def answer(environ: dict[str, Any]) -> tuple[str, bytes, int | None]:
    path, method = environ["PATH_INFO"], environ["REQUEST_METHOD"]
    models = load()
    found = PATH.fullmatch(path)
    asked = found["asked"] if found else path.rstrip("/")
    if method != ("POST" if asked == "/infer" else "GET"):
        return "405 Method Not Allowed", refusal(f"`{path}` is not for {method}"), None
    if found is None:
        return "200 OK", json.dumps(server(path)).encode(), None
    model = models.get(found["model"])
    if model is None:
        raise NotFound(f"no model `{found['model']}`; there are {named(models)}")
    if found["version"] not in (None, model.version):
        raise NotFound(f"`{model.name}` has version {model.version}, not {found['version']}")
    if asked == "/infer":
        return "200 OK", *model.infer(read(environ))
    if asked == "/ready":
        return "200 OK", json.dumps({"name": model.name, "ready": True}).encode(), None
    if asked is not None:
        raise NotFound(f"no such path: `{path}`")
    return "200 OK", json.dumps(model.about()).encode(), None


def server(path: str) -> dict[str, Any]:
    answers: dict[str, dict[str, Any]] = {
        "/v2": {"name": "tidegate-onnx", "version": "1", "extensions": ["binary_tensor_data"]},
        "/v2/health/live": {"live": True},
        "/v2/health/ready": {"ready": True},
    }
    if path.rstrip("/") not in answers:
        raise NotFound(f"no such path: `{path}`")
    return answers[path.rstrip("/")]


def read(environ: dict[str, Any]) -> Request:
    length = environ.get("HTTP_INFERENCE_HEADER_CONTENT_LENGTH")
    if length is not None and not length.isdecimal():
        raise BadRequest("`Inference-Header-Content-Length` is not a number")
    return Request(environ["wsgi.input"].read(), None if length is None else int(length))


def refusal(error: object) -> bytes:
    return json.dumps({"error": str(error)}).encode()
