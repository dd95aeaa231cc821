"""`tidegate.share`: puts a model where all workers of a pool share it and none can change it.

A fork shares memory until someone writes into it. This moves the large parts, PyTorch tensors and
NumPy arrays, into memory that stays shared, and takes away the ways to write: a module goes into
evaluation without gradients, an array becomes read-only. Neither library is imported here; without
them nothing of theirs can come in. What it cannot share it leaves as it is and says so
(`ShareWarning`): a fork shares that as well, page by page, until it is written to.
"""

import math
import mmap
import os
import sys
import warnings
from typing import Any

PLAIN = (str, bytes, int, float, bool, type(None))
SHARED_MEMORY = "/dev/shm"


class ShareWarning(UserWarning):
    """Something could not be moved into shared memory and was left as it is."""


def share(model: Any) -> Any:
    """Returns `model` with its tensors and arrays in memory that all workers share.

    PyTorch modules and tensors are changed in place and returned themselves; a module is put into
    `eval()` and its parameters need no gradient any more. NumPy arrays are copied once into shared
    memory and come back read-only. Dicts, lists and tuples are gone through and come back anew.
    Call it where the model is loaded, in the function that `preload` names or while the app is
    imported: after the fork nothing can be shared any more.

    Raises `MemoryError` where /dev/shm is too small for what PyTorch puts there.
    """
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    if isinstance(model, PLAIN):
        return model
    if isinstance(model, dict):
        return {key: share(value) for key, value in model.items()}
    if type(model) in (list, tuple):
        return type(model)(share(part) for part in model)
    if torch is not None and isinstance(model, torch.nn.Module):
        return share_module(model)
    if torch is not None and isinstance(model, torch.Tensor):
        refuse_small_memory(size_of([model]))
        return model.share_memory_()
    if numpy is not None and isinstance(model, numpy.ndarray):
        return share_array(numpy, model)
    told = f"share `{type(model).__name__}`: not a tensor, module or array; left as it is"
    warnings.warn(told, ShareWarning, stacklevel=2)
    return model


def share_module(module: Any) -> Any:
    """Shares a PyTorch module's parameters and buffers."""
    refuse_small_memory(size_of([*module.parameters(), *module.buffers()]))
    module.eval()
    module.requires_grad_(False)
    return module.share_memory()


def size_of(tensors: list[Any]) -> int:
    """Returns the bytes of tensors that are not shared yet."""
    return sum(t.numel() * t.element_size() for t in tensors if not t.is_shared())


def refuse_small_memory(needed: int) -> None:
    """Raises before PyTorch fills /dev/shm, which would end the process with a bus error."""
    try:
        found = os.statvfs(SHARED_MEMORY)
    except FileNotFoundError:
        raise MemoryError(
            f"share model: there is no {SHARED_MEMORY}; mount a tmpfs of the model's size there"
        ) from None
    free = found.f_bavail * found.f_frsize
    if needed > free:
        mega = math.ceil(needed / 1e6)
        raise MemoryError(
            f"share model: it needs {mega} MB in {SHARED_MEMORY}, {free // 1_000_000} MB are free;"
            f" run the container with `--shm-size={math.ceil(mega * 1.1)}m` or mount a larger"
            " `emptyDir` of medium Memory there"
        )


def share_array(numpy: Any, array: Any) -> Any:
    """Returns a read-only copy of an array in anonymous shared memory."""
    if array.dtype.hasobject:
        told = "share `ndarray`: it holds Python objects; left as it is"
        warnings.warn(told, ShareWarning, stacklevel=3)
        return array
    if array.nbytes == 0 or isinstance(array, numpy.memmap):
        return array
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    memory = mmap.mmap(-1, array.nbytes)
    shared = numpy.ndarray(array.shape, array.dtype, buffer=memory, order=order)
    shared[...] = array
    shared.flags.writeable = False
    return shared
