"""`tidegate.share`: what it moves into shared memory, and what it says of the rest."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from tidegate import ShareWarning, share


def test_array_is_equal_read_only_and_in_shared_memory() -> None:
    array = np.arange(12.0).reshape(3, 4)
    for given in (array, array.T, array[:, ::2], array.astype("f4")):
        shared = share(given)
        np.testing.assert_array_equal(shared, given)
        assert shared.dtype == given.dtype
        with pytest.raises(ValueError, match="read-only"):
            shared[0, 0] = 1
    assert share(array.T).flags.f_contiguous


def test_shared_array_is_seen_by_a_fork_through_the_same_pages() -> None:
    shared = share(np.zeros(1000))
    writable = np.frombuffer(memoryview(shared.base), dtype=float)
    pid = os.fork()
    if pid == 0:
        writable[5] = 7.0
        os._exit(0)
    os.waitpid(pid, 0)
    assert shared[5] == 7.0


def test_containers_are_gone_through() -> None:
    given = {"w": [np.ones(3), (np.zeros(2), "name")], "n": 3, "none": None}
    shared = share(given)
    assert shared["n"] == 3 and shared["w"][1][1] == "name" and shared["none"] is None
    assert not shared["w"][0].flags.writeable and not shared["w"][1][0].flags.writeable


def test_what_cannot_be_shared_is_named_and_left_alone() -> None:
    thing = object()
    with pytest.warns(ShareWarning, match="`object`: not a tensor, module or array"):
        assert share(thing) is thing
    objects = np.array([{}], dtype=object)
    with pytest.warns(ShareWarning, match="Python objects"):
        assert share(objects) is objects


def test_empty_array_needs_no_memory() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert share(np.zeros(0)).size == 0


WITHOUT_SHM = """
from tidegate.workers.share import refuse_small_memory
try:
    refuse_small_memory(1)
except MemoryError as error:
    print(error)
"""


def test_missing_shared_memory_is_named() -> None:
    # A mount namespace whose /dev is empty.
    confine = ["unshare", "--map-root-user", "--mount", "sh", "-c"]
    script = 'mount -t tmpfs tmpfs /dev && exec "$@"'
    program = [sys.executable, "-c", WITHOUT_SHM]
    if subprocess.run([*confine, script, "sh", "true"]).returncode != 0:
        pytest.skip("no mounts can be made here (`unshare --map-root-user --mount`)")
    folder = Path(__file__).parents[1]
    command = [*confine, script, "sh", *program]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert run.stdout.startswith("share model: there is no /dev/shm; "), run
