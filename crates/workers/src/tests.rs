//! Pools of real Python processes, with real faults.
//!
//! Requests go through a loan and the worker's own socket, one connection each. What is awaited is
//! seen in the status, or in what the app left in its directory.

mod boot;
mod end;
mod faults;
mod lend;
mod recycle;
mod reload;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use metrics::Registry;
use testkit::{FIXTURE_TIMEOUT, TempDir};

use crate::{LendError, Loan, Plan, Status, WorkerPool, Workers, WorkersError};

/// An app with a fault behind each path. Files named `NAME` in its directory open its gates.
const APP: &str = r#"
import os, sys, time

VERSION = "one"
heap = []

def until(name):
    while not os.path.exists(name):
        time.sleep(0.005)

def act(path):
    if path == "/exit":
        print("about to exit", flush=True)
        os._exit(3)
    if path == "/segv":
        import ctypes
        ctypes.string_at(0)
    if path == "/bus":
        os.kill(os.getpid(), 7)
    if path == "/stuck":
        import ctypes
        open("hangs", "w").close()
        # Sleeps in C and keeps the interpreter's lock.
        ctypes.PyDLL(None).sleep(3600)
    if path == "/hang":
        open("hangs", "w").close()
        time.sleep(3600)
    if path == "/gate":
        open("at-gate", "a").close()
        until("open")
    if path == "/grow":
        heap.append(bytearray(os.urandom(1)) * 30_000_000)
    if path == "/raise":
        raise ValueError("no such thing")
    if path == "/noise":
        sys.stdout.buffer.write(b"\xff\x00\x1b[2J" * 100_000 + b"\n")
        sys.stdout.flush()
    if path == "/fork":
        pid = os.fork()
        if pid == 0:
            time.sleep(3600)
        return str(pid)
    return f"{os.getpid()} {VERSION}"

async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("http only")
    body = act(scope["path"]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})
"#;

/// A running pool in a directory of its own.
struct Bench {
    dir: Arc<TempDir>,
    workers: Option<Workers>,
    registry: Registry,
    runtime: tokio::runtime::Runtime,
}

/// The Python itself: what is in `PATH` may be a script that looks for it, which takes long.
fn interpreter() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        testkit::require("python3", testkit::Absent::Panic);
        let mut command = Command::new("python3");
        let output = command.args(["-c", "import sys; print(sys.executable)"]).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    })
}

fn plan(dir: &Path) -> Plan {
    let mut plan = Plan::new("test", "app:app", dir, &dir.join("pool"));
    plan.interpreter = interpreter().to_owned();
    plan.workers = 2;
    plan.boot_timeout = Duration::from_secs(15);
    plan.drain_timeout = Duration::from_secs(10);
    plan
}

/// Writes the app, and not within the same instant as what was there before.
fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

fn start_error(change: impl FnOnce(&mut Plan)) -> WorkersError {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "app.py", APP);
    let mut plan = plan(dir.path());
    change(&mut plan);
    Workers::start(plan, &Registry::default()).err().unwrap()
}

impl Bench {
    fn new(app: &str, change: impl FnOnce(&mut Plan)) -> Self {
        let dir = Arc::new(TempDir::new().unwrap());
        write(dir.path(), "app.py", app);
        Self::on(&dir, change)
    }

    fn on(dir: &Arc<TempDir>, change: impl FnOnce(&mut Plan)) -> Self {
        let registry = Registry::default();
        let mut plan = plan(dir.path());
        change(&mut plan);
        let workers = Workers::start(plan, &registry).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { dir: Arc::clone(dir), workers: Some(workers), registry, runtime }
    }

    /// With all workers in service.
    fn serving(app: &str, change: impl FnOnce(&mut Plan)) -> Self {
        let bench = Self::new(app, change);
        bench.wait_until_full();
        bench
    }

    fn pool(&self) -> Arc<WorkerPool> {
        self.workers.as_ref().unwrap().pool()
    }

    fn take(&self) -> Loan {
        self.try_take(FIXTURE_TIMEOUT).unwrap()
    }

    fn try_take(&self, patience: Duration) -> Result<Loan, LendError> {
        let pool = self.pool();
        self.runtime.block_on(async { pool.take(Instant::now() + patience).await })
    }

    fn get(&self, path: &str) -> String {
        let loan = self.take();
        let body = get(loan.socket(), path).unwrap();
        loan.done();
        body
    }

    /// Waits for a status that is as expected.
    fn wait(&self, what: &str, is_it: impl Fn(&Status) -> bool) -> Status {
        let pool = self.pool();
        let until = Instant::now() + FIXTURE_TIMEOUT;
        loop {
            let status = pool.status();
            if is_it(&status) {
                return status;
            }
            assert!(Instant::now() < until, "{what}: {status:#?}");
            // Nobody wakes it: it looks again.
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn wait_until_full(&self) -> Status {
        let workers = self.pool().plan.workers;
        self.wait("all workers are in service", |status| {
            let free = status.workers.iter().filter(|it| it.state == "free").count();
            free == workers && status.workers.len() == workers
        })
    }

    fn wait_for_file(&self, name: &str) {
        let path = self.dir.path().join(name);
        self.wait(&format!("`{name}` is there"), |_| path.exists());
    }

    fn open(&self, name: &str) {
        write(self.dir.path(), name, "");
    }

    /// Runs `count` requests on each of four threads while `meanwhile` runs; all must succeed.
    fn under_load<T>(&self, count: usize, meanwhile: impl FnOnce() -> T) -> T {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let load = || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let (runtime, pool) = (runtime.unwrap(), self.pool());
                let mut answered = 0;
                while answered < count || !is_over.load(Ordering::Relaxed) {
                    let loan = runtime
                        .block_on(async { pool.take(Instant::now() + FIXTURE_TIMEOUT).await });
                    let loan = loan.unwrap();
                    get(loan.socket(), "/").unwrap();
                    loan.done();
                    answered += 1;
                }
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(load)).collect();
            let result = meanwhile();
            is_over.store(true, Ordering::Relaxed);
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            result
        })
    }

    fn restarts(&self, reason: &str) -> u64 {
        self.pool().status().restarts.get(reason).copied().unwrap_or(0)
    }

    fn pid_of(&self, id: u64) -> i32 {
        let status = self.pool().status();
        status.workers.iter().find(|worker| worker.id == id).unwrap().pid.unwrap()
    }

    fn end(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.end();
        }
    }
}

/// Asks a worker; the body of a complete 200.
fn get(socket: &Path, path: &str) -> Result<String, String> {
    let mut stream = send(socket, path).map_err(|error| error.to_string())?;
    let mut reply = String::new();
    // What the app has forked may hold the connection open.
    while !is_whole(&reply) {
        let mut piece = [0; 4096];
        let read = stream.read(&mut piece).map_err(|error| error.to_string())?;
        if read == 0 {
            break;
        }
        reply.push_str(&String::from_utf8_lossy(&piece[..read]));
    }
    let (head, body) = reply.split_once("\r\n\r\n").ok_or_else(|| format!("torn: {reply}"))?;
    if !head.starts_with("HTTP/1.1 200") {
        return Err(reply);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length.map(|length| length.parse::<usize>().unwrap()) {
        Some(length) if length != body.len() => Err(format!("torn: {reply}")),
        Some(_) => Ok(body.to_owned()),
        None => {
            let chunk = body.split_once("\r\n").ok_or("no chunk")?.1;
            let (text, rest) = chunk.split_once("\r\n").ok_or("a torn chunk")?;
            rest.contains("0\r\n").then(|| text.to_owned()).ok_or_else(|| format!("torn: {reply}"))
        }
    }
}

fn is_whole(reply: &str) -> bool {
    let Some((head, body)) = reply.split_once("\r\n\r\n") else { return false };
    match head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
        Some(length) => length.parse::<usize>().unwrap() <= body.len(),
        None => body.ends_with("0\r\n\r\n"),
    }
}

fn send(socket: &Path, path: &str) -> std::io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT))?;
    let head = format!("GET {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

fn signal(pid: i32, name: &str) {
    let mut command = Command::new("kill");
    assert!(command.args(["-s", name, &pid.to_string()]).status().unwrap().success());
}

/// Whether it runs: a process that waits to be counted as ended does not.
fn runs(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest.starts_with('Z'));
    state == Some(false)
}

fn pids(status: &Status) -> Vec<i32> {
    status.workers.iter().filter_map(|worker| worker.pid).collect()
}
