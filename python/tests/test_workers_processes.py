"""Preload process, parents and workers: what they load, fork, refuse, report, and when they end."""

import json
import os
import signal
import stat
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest
from conftest import kill, wait_for_end

HELLO = """
async def app(scope, receive, send):
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"hello"})
"""
FUNCTION = "def app(request):\n    return %s\n"
LOADING = """
import os
loads = []
def load():
    loads.append(os.getpid())
    return {"loaded_by": os.getpid(), "loads": loads}
"""


def test_family_says_who_it_is_and_serves(supervisor) -> None:
    worker = supervisor.worker(HELLO)
    preload, parent, _ = supervisor.processes
    assert [p.hello["role"] for p in supervisor.processes] == ["preload", "parent", "worker"]
    assert worker.hello["id"] == 7 and worker.hello["generation"] == 1
    assert parent.hello["id"] is None and preload.hello["generation"] == 0
    assert preload.said("ready")["shm"]["size"] > 0
    assert parent.said("ready")["kind"] == "asgi"
    assert parent.said("ready")["files"] == [str(supervisor.app_dir / "app.py")]
    assert worker.get() == (200, b"hello")
    assert stat.S_IMODE(os.stat(worker.path).st_mode) == 0o600


def test_preload_is_loaded_once_for_all_generations(supervisor) -> None:
    supervisor.app(LOADING, "models.py")
    text = "import models\nmodel = models.load()\ndef app(request):\n    return model\n"
    first = supervisor.worker(text, preload="models:load")
    preload = supervisor.processes[0]
    loaded = b'{"loaded_by": %d, "loads": [%d]}' % (preload.pid, preload.pid)
    assert first.get() == (200, loaded)
    assert preload.said("ready")["files"] == [str(supervisor.app_dir / "models.py")]
    supervisor.app(text.replace("return model", "return ['new', model]"))
    parent = supervisor.forked(preload, "parent", generation=2)
    parent.said("ready")
    second = supervisor.forked(parent, "worker", id=8)
    assert second.get() == (200, b'["new", %s]' % loaded)
    assert first.get() == (200, loaded)


def test_preload_process_never_imports_the_app(supervisor) -> None:
    supervisor.app("raise RuntimeError('imported')\n")
    assert supervisor.preload().said("ready")["files"] == []


def test_worker_collects_garbage_and_leaves_frozen_objects_alone(supervisor) -> None:
    text = "import gc\ndef app(request):\n    return [gc.isenabled(), gc.get_freeze_count() > 0]\n"
    assert supervisor.worker(text).get() == (200, b"[true, true]")


def test_workers_draw_different_random_numbers(supervisor) -> None:
    text = (
        "import random\nimport numpy.random\nrandom.seed(1)\nnumpy.random.seed(1)\n"
        "def app(request):\n    return [random.random(), numpy.random.random()]\n"
    )
    first = supervisor.worker(text)
    second = supervisor.forked(supervisor.parent_of(first), "worker", id=8)
    one, other = (worker.get()[1].decode().strip("[]").split(",") for worker in (first, second))
    assert one[0] != other[0] and one[1] != other[1]


@pytest.mark.parametrize(
    ("app", "needed"),
    [
        ("def app(request):\n    return seen()", "blocking function"),
        ("async def app(request):\n    return seen()", "asgi function"),
        (
            "def app(environ, start_response):\n    start_response('200 OK', [])\n"
            "    return [seen().encode()]",
            "blocking wsgi",
        ),
    ],
)
def test_workers_share_the_server_that_their_parent_imported(supervisor, app, needed) -> None:
    text = (
        "import os, sys\nmodules = []\n"
        "os.register_at_fork(after_in_child=lambda: modules.extend(sys.modules))\n"
        f"def seen():\n    return ' '.join(modules)\n{app}\n"
    )
    seen = supervisor.worker(text).get()[1].decode().split()
    assert {f"tidegate.workers.{name}" for name in needed.split()} <= set(seen)


def test_pings_are_answered_beside_a_blocking_request(supervisor) -> None:
    text = (
        "import sys, time\nasync def app(scope, receive, send):\n"
        "    assert scope['type'] == 'http'\n    print('busy')\n    time.sleep(1000)\n"
    )
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.printed(worker, b"busy")
    for process in supervisor.processes:
        process.order("ping", n=3)
        assert process.said("pong")["n"] == 3


def test_what_an_unknown_order_asks_is_ignored(supervisor) -> None:
    worker = supervisor.worker(HELLO)
    for process in supervisor.processes:
        process.order("dance", n=1)
        process.order("ping", n=2)
        assert process.said("pong")["n"] == 2
    assert worker.get() == (200, b"hello")


@pytest.mark.parametrize(
    ("text", "told", "hint"),
    [
        ("import nothing_like_it\n", "No module named 'nothing_like_it'", "install it for"),
        ("def app(:\n", "SyntaxError", None),
        ("x = 1 / 0\n", "ZeroDivisionError: division by zero", None),
        ("raise SystemExit(3)\n", "SystemExit: 3", None),
        ("import os\napplication = 1\n", "no attribute `app`", "`app` has: application, os"),
        ("app = 3\n", "of type `int` and cannot be called", None),
        ("class app:\n    pass\n", "is a class", "name an instance"),
        ("def app(*args): pass\n", "takes any arguments", "set `kind"),
        ("def app(): pass\n", "takes no argument", "`app:app()`"),
        ("def app(a, b, c, d): pass\n", "takes 4 arguments", "set `kind"),
        ("def app(scope): pass\n", "ASGI 2", "ASGI 3"),
    ],
)
def test_app_that_cannot_be_used_says_why(supervisor, text, told, hint) -> None:
    supervisor.app(text)
    parent = supervisor.parent()
    failed = parent.said("failed")
    assert told in failed["reason"] and "\n" not in failed["reason"]
    assert (hint or "") in (failed["hint"] or "")
    parent.ended()
    assert supervisor.processes[0].said("exited")["pid"] == parent.pid


def test_traceback_of_an_import_holds_the_apps_frames_only(supervisor) -> None:
    supervisor.app("def fail():\n    raise ValueError('no weights')\n", "deep.py")
    supervisor.app("import deep\ndeep.fail()\n")
    failed = supervisor.parent().said("failed")
    assert failed["stage"] == "import"
    assert failed["reason"] == "import `app:app`: ValueError: no weights"
    assert "deep.py" in failed["traceback"] and "app.py" in failed["traceback"]
    assert "importlib" not in failed["traceback"] and "loading.py" not in failed["traceback"]
    files = [str(supervisor.app_dir / name) for name in ("app.py", "deep.py")]
    assert failed["files"] == files


def test_missing_module_is_named_with_its_folder(supervisor) -> None:
    failed = supervisor.parent(app="elsewhere:app").said("failed")
    told = f"no module `elsewhere` in `{supervisor.app_dir}`"
    assert failed["reason"] == f"import `elsewhere:app`: {told}"


@pytest.mark.parametrize("name", ["app", "app:", ":app", "app:a b", "app:f(", "app:f(g())"])
def test_malformed_name_is_refused_with_the_right_form(supervisor, name) -> None:
    supervisor.app("f = print\n")
    assert "`module:attribute`" in supervisor.parent(app=name).said("failed")["hint"]


def test_factory_and_dotted_names_are_resolved(supervisor) -> None:
    text = (
        "class Site:\n    @staticmethod\n    def make(word, times=1):\n"
        "        def app(request):\n            return word * times\n        return app\n"
    )
    worker = supervisor.worker(text, app="app:Site.make('ab', times=2)")
    assert worker.get() == (200, b"abab")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def load():\n    raise OSError('weights.bin is missing')\n", "weights.bin is missing"),
        ("async def load(): pass\n", "not a plain function"),
        ("load = 3\n", "not a plain function"),
        ("", "no attribute `load`"),
    ],
)
def test_failing_preload_ends_the_preload_process_with_the_reason(supervisor, text, told) -> None:
    supervisor.app(text, "models.py")
    preload = supervisor.preload(preload="models:load")
    failed = preload.said("failed")
    assert failed["stage"] == "preload" and told in failed["reason"]
    assert supervisor.started[0].wait() == 1


def test_python_thread_started_at_import_is_refused_by_name(supervisor) -> None:
    supervisor.app(
        "import threading\nstop = threading.Event()\n"
        "threading.Thread(target=stop.wait, name='refresher', daemon=True).start()\n"
        + FUNCTION
        % "1"
    )
    failed = supervisor.parent().said("failed")
    assert failed["stage"] == "threads"
    assert failed["reason"] == "fork after `app:app`: it has started 1 thread: `refresher`"
    assert 'share_memory = "off"' in failed["hint"]


NATIVE = """
import ctypes
libc = ctypes.CDLL(None)
thread = ctypes.c_ulong()
# As a BLAS library does: a thread that Python knows nothing of, here one that sleeps in C.
assert libc.pthread_create(ctypes.byref(thread), None, libc.pause, None) == 0
assert libc.pthread_setname_np(thread, b"blas-helper") == 0
"""


def test_native_thread_is_refused_by_its_name_in_the_kernel(supervisor) -> None:
    supervisor.app(NATIVE + FUNCTION % "1")
    failed = supervisor.parent().said("failed")
    assert failed["stage"] == "threads"
    assert "`blas-helper` (not Python's)" in failed["reason"]
    assert 'share_memory = "off"' in failed["hint"]


def test_native_thread_beside_numpy_names_the_variable_to_set(supervisor) -> None:
    supervisor.app("import numpy\n" + NATIVE + FUNCTION % "1")
    environment = supervisor.environment() | {"OPENBLAS_NUM_THREADS": "2"}
    preload = supervisor.start("preload", environment)
    preload.said("ready")
    failed = supervisor.forked(preload, "parent", generation=1).said("failed")
    assert 'set `OPENBLAS_NUM_THREADS = "1"` in `environment`' in failed["hint"]


def test_app_that_starts_threads_is_served_by_executed_workers(supervisor) -> None:
    supervisor.app("import models\n" + NATIVE + FUNCTION % "models.load()['loads']")
    supervisor.app(LOADING, "models.py")
    environment = supervisor.environment(share=False, preload="models:load")
    worker = supervisor.start("worker", environment | {"TIDEGATE_WORKER_ID": "4"})
    ready = worker.said("ready")
    assert ready["kind"] == "function"
    assert ready["files"] == [str(supervisor.app_dir / name) for name in ("app.py", "models.py")]
    assert worker.get() == (200, b"[%d]" % worker.pid)


def test_all_processes_of_a_pool_yield_to_others_as_told(supervisor) -> None:
    told = min(os.nice(0) + 3, 19)
    worker = supervisor.worker(f"import os\n{FUNCTION % 'os.nice(0)'}", niceness=3)
    assert worker.get() == (200, b"%d" % told)
    assert [os.getpriority(os.PRIO_PROCESS, p.pid) for p in supervisor.processes] == [told] * 3
    alone = supervisor.start("worker", supervisor.environment(share=False, niceness=3))
    alone.said("ready")
    assert alone.get() == (200, b"%d" % told)


def test_executed_worker_reports_a_broken_import(supervisor) -> None:
    supervisor.app("import nothing_like_it\n")
    worker = supervisor.start("worker", supervisor.environment(share=False))
    assert worker.said("failed")["stage"] == "import"


def test_end_of_a_worker_is_reported_with_its_status(supervisor) -> None:
    text = "import os\ndef app(request):\n    os._exit(3)\n"
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: app\r\n\r\n")
    assert connection.recv(100) == b""
    exited = supervisor.parent_of(worker).said("exited")
    assert exited["pid"] == worker.pid and os.waitstatus_to_exitcode(exited["status"]) == 3


def test_killed_worker_is_reported_and_its_parent_forks_another(supervisor) -> None:
    worker = supervisor.worker(HELLO)
    parent = supervisor.parent_of(worker)
    os.kill(worker.pid, signal.SIGKILL)
    assert os.waitstatus_to_exitcode(parent.said("exited")["status"]) == -signal.SIGKILL
    assert supervisor.forked(parent, "worker", id=7).get() == (200, b"hello")


def test_parent_ends_on_order_and_its_workers_go_on(supervisor) -> None:
    worker = supervisor.worker(HELLO)
    parent = supervisor.parent_of(worker)
    parent.order("exit")
    parent.ended()
    assert worker.get() == (200, b"hello")


def test_workers_survive_a_killed_preload_process_and_parent(supervisor) -> None:
    worker = supervisor.worker(HELLO)
    for above in supervisor.processes[:2]:
        os.kill(above.pid, signal.SIGKILL)
        above.ended()
    assert worker.get() == (200, b"hello")


def test_termination_of_the_whole_pool_leaves_it_what_workers_are_forked_from(supervisor) -> None:
    text = (
        "import os, time\ndef app(request):\n    print('waiting')\n"
        "    while not os.path.exists('go'):\n        time.sleep(0.001)\n    return 'finished'\n"
    )
    worker = supervisor.worker(text)
    connection = worker.http()
    connection.request("GET", "/")
    supervisor.printed(worker, b"waiting")
    for process in supervisor.processes:
        os.kill(process.pid, signal.SIGTERM)
    worker.said("leaving")
    worker.order("leave")
    (supervisor.app_dir / "go").touch()
    assert connection.getresponse().read() == b"finished"
    preload, parent, _ = supervisor.processes
    assert parent.said("exited")["status"] == 0
    assert supervisor.forked(parent, "worker", id=8).get() == (200, b"finished")
    supervisor.forked(preload, "parent", generation=2).said("ready")


@pytest.mark.parametrize("loads", ["preload", "parent"])
def test_termination_of_what_loads_is_the_supervisors_business(supervisor, loads) -> None:
    supervisor.app(
        "import os, time\ndef load():\n    open('loading', 'w').write('x')\n"
        "    while not os.path.exists('go'):\n        time.sleep(0.001)\n",
        "models.py",
    )
    supervisor.app("import models\nmodels.load()\n" + FUNCTION % "1")
    os.mkfifo(supervisor.app_dir / "loading")
    if loads == "preload":
        process = supervisor.preload(preload="models:load")
    else:
        process = supervisor.parent()
    assert (supervisor.app_dir / "loading").read_text() == "x"
    os.kill(process.pid, signal.SIGTERM)
    (supervisor.app_dir / "go").touch()
    process.said("ready")


def test_processes_that_an_import_starts_can_be_terminated(supervisor) -> None:
    text = (
        "import os, signal, subprocess, time\n"
        "def load():\n    ended = []\n"
        "    read, write = os.pipe()\n"
        "    child = os.fork()\n"
        "    if child == 0:\n        os.write(write, b'x')\n        time.sleep(1000)\n"
        "    os.read(read, 1)\n"
        "    os.kill(child, signal.SIGTERM)\n"
        "    ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "    executed = subprocess.Popen(['sleep', '1000'])\n"
        "    executed.terminate()\n    ended.append(executed.wait())\n    return ended\n"
    )
    supervisor.app(text, "models.py")
    app = "import models\n" + FUNCTION % "models.load()"
    worker = supervisor.worker(app, preload="models:load")
    assert worker.get() == (200, b"[-15, -15]")


def test_interrupt_is_the_supervisors_business(supervisor) -> None:
    worker = supervisor.worker(HELLO)
    for process in supervisor.processes:
        os.kill(process.pid, signal.SIGINT)
    assert worker.get() == (200, b"hello")


@pytest.mark.parametrize("how", ["leave", "SIGTERM"])
@pytest.mark.parametrize("kind", ["asgi", "function"])
def test_worker_leaves_with_what_its_app_left_to_do(supervisor, how, kind) -> None:
    noted = "import atexit\natexit.register(print, 'bye')\n"
    worker = supervisor.worker(noted + (HELLO if kind == "asgi" else FUNCTION % "1"))
    path = worker.path
    idle = worker.raw()
    idle.sendall(b"GET / HTTP/1.1\r\nhost: app\r\n\r\n")
    assert idle.recv(1000).startswith(b"HTTP/1.1 200")
    if how == "SIGTERM":
        os.kill(worker.pid, signal.SIGTERM)
        worker.said("leaving")
        # What the gateway sends before it knows is answered.
        idle.sendall(b"GET / HTTP/1.1\r\nhost: app\r\n\r\n")
        assert idle.recv(1000).startswith(b"HTTP/1.1 200")
    worker.order("leave")
    assert idle.recv(1) == b""
    assert supervisor.parent_of(worker).said("exited")["status"] == 0
    supervisor.printed(worker, b"bye")
    assert not Path(path).exists()


SHARED = """
import multiprocessing, os, tempfile, time
made = tempfile.TemporaryDirectory()
helper = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,), daemon=True)
helper.start()
def app(request):
    own = tempfile.TemporaryDirectory()
    kept.append(own)
    return [made.name, helper.pid, own.name]
kept = []
"""


def test_worker_that_leaves_ends_what_it_made_and_nothing_that_others_share(supervisor) -> None:
    first = supervisor.worker(SHARED)
    parent = supervisor.parent_of(first)
    second = supervisor.forked(parent, "worker", id=8)
    second.said("ready")
    shared, helper, _ = json.loads(first.get()[1])
    try:
        for count, worker in enumerate((first, second), start=1):
            _, _, own = json.loads(worker.get()[1])
            assert Path(own).exists()
            worker.order("leave")
            assert parent.said("exited", count=count)["status"] == 0
            assert not Path(own).exists()
            assert Path(shared).exists()
            os.kill(helper, 0)
        parent.order("exit")
        parent.ended()
        assert not Path(shared).exists()
        wait_for_end(helper)
    finally:
        kill(helper)


SLEEPING = {
    "in Python's sleep": "import time\ntime.sleep(1000)",
    "in C that holds the interpreter": "sum(range(10**15))",
}


@pytest.mark.parametrize("where", SLEEPING)
def test_everything_ends_with_the_supervisor(supervisor, where) -> None:
    body = SLEEPING[where].replace("\n", "\n    ")
    worker = supervisor.worker(f"def app(request):\n    print('busy')\n    {body}\n")
    connection = worker.raw()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.printed(worker, b"busy")
    supervisor.vanish()
    for process in supervisor.processes:
        process.ended()


def test_end_of_the_control_connection_alone_ends_everything(supervisor) -> None:
    text = "import time\ndef app(request):\n    print(1)\n    time.sleep(1000)\n"
    worker = supervisor.worker(text)
    connection = worker.raw()
    connection.sendall(b"GET / HTTP/1.1\r\nhost: app\r\n\r\n")
    supervisor.printed(worker, b"1")
    supervisor.vanish("sockets")
    for process in supervisor.processes:
        process.ended()


def test_parent_that_imports_for_minutes_ends_with_the_supervisor(supervisor) -> None:
    supervisor.app("import time\ntime.sleep(1000)\n")
    parent = supervisor.parent()
    supervisor.vanish()
    parent.ended()


@pytest.mark.parametrize(
    "order",
    [("leash", "sockets"), ("sockets", "leash"), ("leash",), ("sockets",)],
    ids=" then ".join,
)
def test_processes_that_the_app_forked_end_with_the_supervisor(supervisor, order) -> None:
    text = (
        "import os, time\ndef app(request):\n    pid = os.fork()\n"
        "    if pid == 0:\n        time.sleep(1000)\n    return pid\n"
    )
    worker = supervisor.worker(text)
    child = int(worker.get()[1])
    supervisor.vanish(*order)
    try:
        wait_for_end(child)
    finally:
        kill(child)


FORKING = {
    "function": "import os\ndef app(request):\n    return os.fork()\n",
    "asgi": "import os\n" + HELLO.replace('b"hello"', "b'%d' % os.fork()"),
}


@pytest.mark.parametrize("kind", FORKING)
def test_child_that_the_app_forks_neither_serves_nor_speaks(supervisor, kind) -> None:
    # The child comes back from the app as if it were the worker.
    text = FORKING[kind]
    worker = supervisor.worker(text)
    status, body = worker.get()
    assert status == 200 and int(body) > 0
    assert int(worker.get()[1]) > 0
    worker.order("ping", n=1)
    worker.said("pong")
    assert all(m["say"] in ("hello", "ready", "free", "pong") for m in worker.messages)


def test_forked_child_does_not_hold_the_workers_connections_open(supervisor) -> None:
    text = (
        "import os, time\ndef app(request):\n    if os.fork() == 0:\n"
        "        print('born')\n        time.sleep(1000)\n    return 1\n"
    )
    worker = supervisor.worker(text)
    assert worker.get() == (200, b"1")
    supervisor.printed(worker, b"born")
    os.kill(worker.pid, signal.SIGKILL)
    worker.ended()
    supervisor.wait(lambda: worker.is_gone, "the end of the control connection")
    with pytest.raises(ConnectionRefusedError):
        worker.raw()


def test_subprocess_of_the_app_is_left_to_the_app(supervisor) -> None:
    text = (
        "import subprocess, sys\n"
        "def app(request):\n"
        "    return subprocess.run([sys.executable, '-c', 'raise SystemExit(4)']).returncode\n"
    )
    assert supervisor.worker(text).get() == (200, b"4")


def test_output_of_python_and_c_comes_by_worker(supervisor) -> None:
    text = (
        "import os, sys\ndef app(request):\n    print('from print')\n"
        "    sys.stderr.write('from stderr\\n')\n"
        "    os.write(1, b'\\x00\\xff\\xfe\\n')\n    return 1\n"
    )
    worker = supervisor.worker(text)
    worker.get()
    for line in (b"from print", b"from stderr", b"\x00\xff\xfe"):
        supervisor.printed(worker, line)


def test_socket_path_that_is_too_long_is_refused_in_bytes(supervisor) -> None:
    supervisor.app(HELLO)
    folder = supervisor.app_dir / ("x" * 100)
    folder.mkdir()
    parent = supervisor.parent(folder=str(folder))
    parent.said("ready")
    failed = supervisor.forked(parent, "worker", id=1).said("failed")
    assert failed["stage"] == "listen" and "at most 107" in failed["reason"]
    assert failed["hint"] == "set a shorter `dir`"


def test_folder_that_takes_no_socket_is_named(supervisor) -> None:
    supervisor.app(HELLO)
    parent = supervisor.parent(folder="/proc")
    parent.said("ready")
    failed = supervisor.forked(parent, "worker", id=1).said("failed")
    assert failed["stage"] == "listen" and "`/proc/w1.sock`" in failed["reason"]
    assert "`dir`" in failed["hint"]


def test_app_dir_that_does_not_exist_is_named(supervisor) -> None:
    failed = supervisor.preload(app_dir="/nowhere").said("failed")
    assert failed["reason"] == "enter folder `/nowhere`: No such file or directory"


def test_new_code_runs_in_its_own_folder_when_the_path_leads_to_another(supervisor) -> None:
    current = supervisor.app_dir / "current"
    for number in "12":
        release = supervisor.app_dir / number
        release.mkdir()
        (release / "version").write_text(number)
        (release / "models.py").write_text("def load():\n    return 'model'\n")
        (release / "app.py").write_text("import models\n" + FUNCTION % "open('version').read()")
    app = supervisor.app_dir / "2" / "app.py"
    app.write_text("import fresh\n" + app.read_text())
    (supervisor.app_dir / "2" / "fresh.py").touch()
    for number in "12":
        # As a release that was copied with its times: nothing shows that the folder is another.
        os.utime(supervisor.app_dir / number, (1, 1))
    current.symlink_to("1")
    first = supervisor.worker(app_dir=str(current), preload="models:load")
    assert first.get() == (200, b"1")
    current.unlink()
    current.symlink_to("2")
    parent = supervisor.forked(supervisor.processes[0], "parent", generation=2)
    parent.said("ready")
    assert supervisor.forked(parent, "worker", id=8).get() == (200, b"2")


def test_app_dir_that_has_gone_is_named_when_the_code_is_loaded_anew(supervisor) -> None:
    supervisor.app(HELLO)
    preload = supervisor.preload()
    preload.said("ready")
    gone = supervisor.app_dir.rename(supervisor.app_dir.with_name("elsewhere"))
    failed = supervisor.forked(preload, "parent", generation=1).said("failed")
    gone.rename(supervisor.app_dir)
    told = f"enter folder `{supervisor.app_dir}`: No such file or directory"
    assert (failed["reason"], failed["hint"]) == (told, "set `app_dir`")


def test_pool_that_cannot_be_read_is_refused(supervisor) -> None:
    for text in ("{", "{}"):
        preload = supervisor.start("preload", supervisor.environment() | {"TIDEGATE_POOL": text})
        assert preload.said("failed")["stage"] == "config"


def test_fork_that_the_kernel_refuses_is_reported_and_the_parent_stays(supervisor) -> None:
    supervisor.app(
        "import os\ndef refuse():\n"
        "    raise BlockingIOError(11, 'Resource temporarily unavailable')\n"
        "os.fork = refuse\n" + HELLO
    )
    parent = supervisor.parent()
    parent.said("ready")
    parent.order("worker", id=1)
    failed = parent.said("failed")
    assert failed["stage"] == "fork" and "temporarily unavailable" in failed["reason"]
    parent.order("ping", n=1)
    parent.said("pong")


def test_zipapp_runs_the_same_family(supervisor, tmp_path) -> None:
    archive = tmp_path / "tidegate.pyz"
    package = Path(__file__).parent.parent
    source = tmp_path / "source"
    subprocess.run(["cp", "-r", package / "tidegate", tmp_path], check=True)
    source.mkdir()
    (tmp_path / "tidegate").rename(source / "tidegate")
    zipapp.create_archive(source, archive, main="tidegate.workers.__main__:main")
    supervisor.app("import tidegate\n" + FUNCTION % "tidegate.__file__")
    environment = supervisor.environment()
    del environment["PYTHONPATH"]
    preload = supervisor.start("preload", environment, str(archive))
    preload.said("ready")
    parent = supervisor.forked(preload, "parent", generation=1)
    parent.said("ready")
    worker = supervisor.forked(parent, "worker", id=1)
    assert worker.get() == (200, f"{archive}/tidegate/__init__.py".encode())


def test_wrong_use_on_the_command_line_says_the_right_one() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tidegate.workers", "king"],
        capture_output=True,
        cwd=Path(__file__).parent.parent,
        check=False,
    )
    assert ran.returncode == 2 and b"preload|worker" in ran.stderr


def test_model_files_and_workers_are_imported_apart() -> None:
    check = (
        "import sys, tidegate.workers.worker\n"
        "assert 'tidegate.export' not in sys.modules and 'tidegate.linear' not in sys.modules\n"
    )
    other = (
        "import sys, tidegate\ntidegate.LinearModel\n"
        "assert not any(name.startswith('tidegate.workers') for name in sys.modules)\n"
    )
    without_loop = (
        "import sys, tidegate.workers.wsgi, tidegate.workers.function, tidegate.workers.parent\n"
        "assert 'asyncio' not in sys.modules\n"
    )
    for text in (check, other, without_loop):
        subprocess.run([sys.executable, "-c", text], cwd=Path(__file__).parent.parent, check=True)
