//! Claims about faults of Python apps and their processes, as clients and operators see them: the
//! answer, the log, the alarms, `tidegate workers list`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::{Client, FIXTURE_TIMEOUT, TempDir};

use crate::running::{Running, json as document, run, until};

/// An app with a fault behind each path; a file called `open` in its folder opens its gates.
const APP: &str = r#"
import asyncio, os, sys, time

heap = []
piece = b"x" * 1_000_000

def until_open():
    open("at-gate", "a").write(f"{os.getpid()}\n")
    while not os.path.exists("open"):
        time.sleep(0.005)

async def answer(send, body, more=False):
    await send({"type": "http.response.body", "body": body, "more_body": more})

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan here")
    path = scope["path"]
    if path == "/gate":
        # Blocks the loop, as a call of a library that computes does.
        until_open()
    if path == "/stuck":
        import ctypes
        ctypes.PyDLL(None).sleep(3600)
    if path == "/hang":
        open("at-gate", "a").write(f"{os.getpid()}\n")
        time.sleep(3600)
    if path == "/leak":
        heap.append(bytearray(os.urandom(1)) * 90_000_000)
    if path == "/raise":
        raise ValueError("not today")
    if path == "/noise":
        sys.stdout.buffer.write(b"\xff\x1b[2Jnoise\x00\n")
        sys.stdout.flush()
    if path == "/patient":
        open("at-gate", "a").write(f"{os.getpid()}\n")
        await receive()
        while (await receive())["type"] != "http.disconnect":
            pass
        open("gone", "w").close()
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if path == "/large":
        for _ in range(1074):
            await answer(send, piece, True)
    await answer(send, f"well {os.getpid()}".encode())
"#;

fn config(more: &str) -> String {
    format!(
        "[[upstream]]\nname = \"app\"\npython = \"app:app\"\nworkers = 2\n{more}\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:app\"\n"
    )
}

/// Serves an app; returns before it is in service.
fn begin(app: &str, config: &str) -> Running {
    Running::start(config, |folder| std::fs::write(folder.join("app.py"), app).unwrap())
}

fn serve(more: &str) -> Running {
    let running = begin(APP, &config(more));
    until("two workers", || count(&pool(&running), "free") == 2);
    running
}

/// What the server says of its first pool.
fn pool(running: &Running) -> Value {
    document(&Client::get(running.admin, "/workers").send())[0].clone()
}

fn workers(pool: &Value) -> impl Iterator<Item = &Value> {
    pool["workers"].as_array().into_iter().flatten()
}

fn count(pool: &Value, state: &str) -> usize {
    workers(pool).filter(|worker| worker["state"] == state).count()
}

fn ended(running: &Running, reason: &str) -> u64 {
    pool(running)["restarts"][reason].as_u64().unwrap_or(0)
}

/// What `tidegate workers list` prints.
fn list(running: &Running) -> String {
    let admin = running.admin.to_string();
    let (code, out, err) = run(&["workers", "list", "--admin", &admin], running.folder.path());
    assert_eq!(code, 0, "{err}");
    out
}

/// Waits until `tidegate workers list` says all of that.
fn until_listed(running: &Running, parts: &[&str]) -> String {
    let mut said = String::new();
    until(&format!("{parts:?} in the list"), || {
        said = list(running);
        parts.iter().all(|part| said.contains(part))
    });
    said
}

fn alarms(running: &Running) -> String {
    running.status()["alarms"].to_string()
}

fn signal(pid: u64, name: &str) {
    let mut command = Command::new("kill");
    assert!(command.args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Processes that have come to a gate, in order.
fn at_gate(running: &Running) -> Vec<u64> {
    let text = std::fs::read_to_string(running.folder.path().join("at-gate"));
    text.unwrap_or_default().lines().map(|line| line.parse().unwrap()).collect()
}

/// Waits until so many processes have come to a gate; returns the last.
fn until_at_gate(running: &Running, count: usize) -> u64 {
    until("a request at the gate", || at_gate(running).len() == count);
    at_gate(running)[count - 1]
}

fn open(running: &Running) {
    std::fs::write(running.folder.path().join("open"), "").unwrap();
}

/// Asks, and leaves the answer for later.
fn ask(running: &Running, method: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(running.public).unwrap();
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The most memory that a process ever had, in bytes.
fn peak_bytes(pid: u64) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_get_whose_worker_is_killed_is_answered_by_another_and_a_post_is_not_repeated() {
    let running = serve("");
    let waits = ask(&running, "GET", "/gate");
    let first = until_at_gate(&running, 1);
    signal(first, "KILL");
    let second = until_at_gate(&running, 2);
    assert_ne!(first, second);
    open(&running);
    assert!(answer(waits).ends_with(&format!("well {second}")));
    std::fs::remove_file(running.folder.path().join("open")).unwrap();
    let waits = ask(&running, "POST", "/gate");
    signal(until_at_gate(&running, 3), "KILL");
    let answered = answer(waits);
    assert!(answered.starts_with("HTTP/1.1 502 "), "{answered}");
    until_listed(&running, &["was killed by SIGKILL from outside", "ended: signal 2"]);
    running.server.wait_for_stderr("was killed by SIGKILL from outside");
    assert_eq!(at_gate(&running).len(), 3);
}

#[test]
fn a_request_stuck_in_c_is_504_and_the_list_says_where_it_hangs() {
    let running = serve("timeout = \"1s\"");
    let stuck = ask(&running, "GET", "/stuck");
    until("a busy worker", || count(&pool(&running), "busy") == 1);
    assert!(running.get("/").text().starts_with("well "));
    let answered = answer(stuck);
    assert!(answered.starts_with("HTTP/1.1 504 "), "{answered}");
    until_listed(&running, &["took longer than 1 s", "app.py\", line ", "ended: timeout 1"]);
    until("a new worker", || count(&pool(&running), "free") == 2);
}

#[test]
fn a_request_whose_worker_is_stopped_is_504_and_the_others_are_served() {
    let running = serve("timeout = \"1s\"");
    let waits = ask(&running, "GET", "/gate");
    signal(until_at_gate(&running, 1), "STOP");
    assert!(running.get("/").text().starts_with("well "));
    let answered = answer(waits);
    assert!(answered.starts_with("HTTP/1.1 504 "), "{answered}");
    until("its end", || ended(&running, "timeout") == 1 && count(&pool(&running), "free") == 2);
}

#[test]
fn a_worker_that_leaks_is_replaced_while_every_request_is_answered() {
    let running = serve("memory_bytes_max = \"60MB\"");
    assert_eq!(running.get("/leak").status, 200);
    until("its replacement", || {
        assert_eq!(running.get("/").status, 200);
        ended(&running, "memory") == 1 && count(&pool(&running), "free") == 2
    });
    assert!(list(&running).contains("ended: memory 1"));
    assert_eq!(alarms(&running), "[]");
}

#[test]
fn a_worker_that_the_kernel_kills_for_its_memory_is_replaced_and_its_end_explained() {
    let running = serve("");
    let server = u64::from(running.server.process_id());
    let limited = pool(&running)["workers"][0]["pid"].as_u64().unwrap();
    let group = match MemoryGroup::of(server, &[server, limited], 40_000_000) {
        Ok(group) => group,
        Err(error) => return println!("not tested: no control group can be made here: {error}"),
    };
    // The kernel would else end the server, if that is larger.
    std::fs::write(format!("/proc/{limited}/oom_score_adj"), "1000").unwrap();
    until("its end", || {
        // Of those who fetch it, one dies of it, and the request goes to the other.
        assert_eq!(running.get("/leak").status, 200);
        ended(&running, "oom") == 1
    });
    until_listed(&running, &["was killed by the kernel, which was out of memory (OOM)"]);
    until("a new worker", || count(&pool(&running), "free") == 2);
    // Its processes are gone before it.
    drop(running);
    drop(group);
}

/// A control group that leaves its processes so many bytes more.
struct MemoryGroup(PathBuf);

impl MemoryGroup {
    fn of(name: u64, pids: &[u64], bytes: u64) -> std::io::Result<Self> {
        let first = Path::new("/sys/fs/cgroup/memory");
        let (root, limit) = if first.is_dir() {
            (first, "memory.limit_in_bytes")
        } else {
            (Path::new("/sys/fs/cgroup"), "memory.max")
        };
        let group = Self(root.join(format!("tidegate-test-{name}")));
        std::fs::create_dir(&group.0)?;
        std::fs::write(group.0.join(limit), bytes.to_string())?;
        for pid in pids {
            std::fs::write(group.0.join("cgroup.procs"), pid.to_string())?;
        }
        Ok(group)
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Empty by now; what is left otherwise is a folder of that system, and no harm.
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_small_dev_shm_is_named_at_the_start_with_what_makes_it_larger() {
    let folder = TempDir::new().unwrap();
    let python = folder.path().join("python");
    let script = "#!/bin/sh\nexec unshare -m sh -c \
        'mount -t tmpfs -o size=1m small /dev/shm && exec python3 \"$@\"' sh \"$@\"\n";
    std::fs::write(&python, script).unwrap();
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).unwrap();
    let may = Command::new(&python).args(["-c", ""]).output().unwrap();
    if !may.status.success() {
        let why = String::from_utf8_lossy(&may.stderr).into_owned();
        return println!("not tested: /dev/shm cannot be mounted here: {why}");
    }
    let interpreter = format!("interpreter = {:?}", python.to_str().unwrap());
    let running = serve(&interpreter);
    running.server.wait_for_stderr("/dev/shm has 1 MB free of 1 MB");
    let log = running.server.stderr();
    assert!(log.contains("--shm-size") && log.contains("emptyDir"), "{log}");
}

#[test]
fn binary_output_is_in_the_log_as_text_with_its_worker() {
    let running = serve("");
    assert_eq!(running.get("/noise").status, 200);
    running.server.wait_for_stderr("[2Jnoise");
    let log = running.server.stderr();
    let line = log.lines().find(|line| line.contains("[2Jnoise")).unwrap();
    assert!(!line.contains('\u{1b}') && !line.contains('\0'), "{line:?}");
    let pids = pool(&running);
    let is_named = |worker: &Value| line.contains(&worker["pid"].to_string());
    assert!(workers(&pids).any(is_named), "{line}");
}

#[test]
fn an_answer_of_a_gigabyte_is_held_by_neither_server_nor_worker() {
    // The server reads ahead of a client that is slower than the worker, within its budget.
    const SPARE: u64 = 256 << 20;
    let running = serve("");
    assert_eq!(running.get("/").status, 200);
    let server = u64::from(running.server.process_id());
    let pids: Vec<u64> =
        workers(&pool(&running)).map(|worker| worker["pid"].as_u64().unwrap()).collect();
    let peaks = || [server, pids[0], pids[1]].map(peak_bytes);
    let before = peaks();
    let mut stream = BufReader::new(ask(&running, "GET", "/large"));
    let mut line = String::new();
    stream.read_line(&mut line).unwrap();
    assert!(line.starts_with("HTTP/1.1 200 "), "{line}");
    let read = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert!(read > 1 << 30, "{read}");
    let after = peaks();
    assert!(after.iter().zip(before).all(|(after, before)| *after < before + SPARE), "{after:?}");
}

#[test]
fn a_worker_that_computes_for_a_client_that_has_gone_is_lent_when_it_is_free() {
    let running = serve("");
    let pids = pool(&running);
    let computes = ask(&running, "GET", "/gate");
    let busy = until_at_gate(&running, 1);
    drop(computes);
    for _ in 0..20 {
        assert_ne!(running.get("/").text(), format!("well {busy}"));
    }
    open(&running);
    until("both are free", || count(&pool(&running), "free") == 2);
    let same = |worker: &Value| workers(&pids).any(|it| it["pid"] == worker["pid"]);
    assert!(workers(&pool(&running)).all(same));
    assert_eq!(pool(&running)["restarts"], serde_json::json!({}));
}

#[test]
fn a_client_that_leaves_the_queue_never_reaches_the_app() {
    let running = begin(APP, &config("concurrency = 1").replace("workers = 2", "workers = 1"));
    until("a worker", || count(&pool(&running), "free") == 1);
    let computes = ask(&running, "GET", "/gate");
    let worker = until_at_gate(&running, 1);
    for method in ["GET", "POST"] {
        let leaves = ask(&running, method, "/gate");
        until("it waits", || pool(&running)["queue"] == 1);
        drop(leaves);
        until("its place is free", || pool(&running)["queue"] == 0);
    }
    open(&running);
    assert!(answer(computes).ends_with(&format!("well {worker}")));
    assert_eq!(running.get("/").text(), format!("well {worker}"));
    assert_eq!(at_gate(&running), [worker]);
    assert_eq!(pool(&running)["restarts"], serde_json::json!({}));
}

#[test]
fn a_request_that_is_given_up_is_told_to_the_app_and_costs_a_worker_that_hangs() {
    let running = begin(APP, &format!("{}lease = \"1s\"\n", config("timeout = \"3s\"")));
    until("two workers", || count(&pool(&running), "free") == 2);
    assert_eq!(running.get("/patient").status, 504);
    until("the app is told", || running.folder.path().join("gone").exists());
    until("it is lent again", || count(&pool(&running), "free") == 2);
    assert_eq!(pool(&running)["restarts"], serde_json::json!({}));
    assert_eq!(running.get("/hang").status, 504);
    until_listed(&running, &["a request that was given up went on for more than 3 s"]);
    until("a new worker", || count(&pool(&running), "free") == 2);
}

#[test]
fn an_async_def_that_blocks_stops_neither_health_nor_the_others_nor_recycling() {
    let running = serve("");
    let before = pool(&running);
    let blocks = ask(&running, "GET", "/gate");
    let blocked = until_at_gate(&running, 1);
    let admin = running.admin.to_string();
    let recycle = ["workers", "recycle", "app", "--admin", &admin];
    assert_eq!(run(&recycle, running.folder.path()).0, 0);
    until("the other is replaced", || {
        assert_eq!(running.get("/").status, 200);
        assert_eq!(Client::get(running.admin, "/health/ready").send().status, 200);
        let is_new = |it: &&Value| !workers(&before).any(|old| old["pid"] == it["pid"]);
        workers(&pool(&running)).filter(is_new).any(|it| it["state"] == "free")
    });
    open(&running);
    assert!(answer(blocks).ends_with(&format!("well {blocked}")));
    until("both are replaced", || ended(&running, "command") == 2);
}

#[test]
fn an_app_that_raises_in_every_request_answers_500_and_keeps_its_workers() {
    let app = APP.replace("path = scope[\"path\"]", "path = \"/raise\"");
    let running = begin(&app, &config(""));
    until("two workers", || count(&pool(&running), "free") == 2);
    for _ in 0..20 {
        assert_eq!(running.get("/").status, 500);
    }
    until_listed(&running, &["ValueError: not today", "Traceback (most recent call last)"]);
    assert_eq!(pool(&running)["restarts"], serde_json::json!({}));
}

#[test]
fn an_app_that_cannot_be_imported_is_503_with_an_alarm_and_comes_when_it_is_mended() {
    let running = begin("import nothing_of_this_name\n", &config(""));
    until("the alarm", || alarms(&running).contains("workers app: none is in service"));
    let alarm = alarms(&running);
    assert!(alarm.contains("import") && alarm.contains("nothing_of_this_name"), "{alarm}");
    let reply = running.get("/");
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert_eq!(Client::get(running.admin, "/health/ready").send().status, 503);
    until_listed(
        &running,
        &["app: failing", "import `app:app`: ", "ModuleNotFoundError", "Traceback"],
    );
    std::fs::write(running.folder.path().join("app.py"), APP).unwrap();
    until("two workers", || count(&pool(&running), "free") == 2);
    assert_eq!((running.get("/").status, alarms(&running).as_str()), (200, "[]"));
}

#[test]
fn an_app_that_takes_five_minutes_is_cut_at_the_boot_timeout() {
    let app = "import time\ntime.sleep(300)\n";
    let running = begin(app, &config("boot_timeout = \"1s\""));
    until("the alarm", || alarms(&running).contains("was not imported within 1 s"));
    assert_eq!(running.get("/").status, 503);
    until_listed(&running, &["app: failing", "was not imported within 1 s"]);
}

#[test]
fn an_app_whose_import_starts_threads_is_refused_by_their_names_and_served_unshared() {
    let app = format!(
        "import threading, time\n\
         threading.Thread(target=time.sleep, args=(3600,), name='ticker', daemon=True).start()\n\
         {APP}"
    );
    let running = begin(&app, &config(""));
    let said = until_listed(&running, &["threads: ", "ticker", "hint: "]);
    assert!(said.contains("share_memory = \"off\""), "{said}");
    until("the alarm", || alarms(&running).contains("ticker"));
    assert_eq!(running.get("/").status, 503);
    let running = begin(&app, &config("share_memory = \"off\""));
    until("two workers", || count(&pool(&running), "free") == 2);
    assert_eq!(running.get("/").status, 200);
}

#[test]
fn no_request_notices_that_preload_process_and_parent_are_killed() {
    let running = serve("");
    for killed in [1, 0] {
        let before = pool(&running);
        signal(before["holders"][killed].as_u64().unwrap(), "KILL");
        until("a new generation alone", || {
            assert_eq!(running.get("/").status, 200);
            let pool = pool(&running);
            let is_new = |it: &Value| it["generation"].as_u64() > before["generation"].as_u64();
            workers(&pool).all(is_new) && count(&pool, "free") == 2
        });
    }
    let log = running.server.stderr();
    for who in ["parent", "preload process"] {
        let is_told = |line: &str| line.contains(who) && line.contains("SIGKILL from outside");
        assert!(log.lines().any(is_told), "{who}: {log}");
    }
}

#[test]
fn two_pools_of_one_app_have_nothing_in_common() {
    let one = config("");
    let two = one.replace("\"app\"", "\"other\"").replace("/{*rest}", "/other/{*rest}");
    let two = two.replace("upstream:app", "upstream:other");
    let running = begin(APP, &format!("{one}{two}"));
    let pools = || document(&Client::get(running.admin, "/workers").send());
    until("four workers", || {
        pools().as_array().unwrap().iter().map(|pool| count(pool, "free")).sum::<usize>() == 4
    });
    let before = pools();
    for holder in before[0]["holders"].as_array().unwrap() {
        signal(holder.as_u64().unwrap(), "KILL");
    }
    assert_eq!(running.get("/other/x").status, 200);
    until("the first is served by a new generation", || {
        let now = pools();
        assert_eq!(now[1]["generation"], before[1]["generation"]);
        now[0]["generation"].as_u64() > before[0]["generation"].as_u64()
    });
    assert_eq!(pools()[1]["holders"], before[1]["holders"]);
}

#[test]
fn a_folder_of_sockets_that_cannot_be_used_is_refused_at_the_start() {
    let refused = |more: &str| {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("app.py"), APP).unwrap();
        std::fs::write(folder.path().join("tidegate.toml"), config(more)).unwrap();
        let (code, _, err) = run(&["serve"], folder.path());
        assert_eq!(code, 1, "{err}");
        err
    };
    let under_a_file = refused("dir = \"app.py/pool\"");
    assert!(under_a_file.contains("app.py/pool"), "{under_a_file}");
    let running = serve("");
    let taken = running.folder.path().join("data/workers/app");
    let same = format!("dir = \"{}\"", taken.display());
    // As the one that follows while this one drains.
    let successor = serve(&same);
    let in_use = refused(&same);
    assert!(in_use.contains("data/workers/app"), "{in_use}");
    assert_eq!((running.get("/").status, successor.get("/").status), (200, 200));
}
