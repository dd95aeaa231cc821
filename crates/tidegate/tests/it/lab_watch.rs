//! `tidegate lab watch` beside a real app, and the report on what it has gathered.
//!
//! It is the hunt of source 002, from the night of probes to the program that is behind it.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::Value;
use testkit::{Absent, SmallDisk, TempDir, require};

use crate::python_app::PythonApp;
use crate::running::{BINARY, run, until};

/// Answers at once, unless an editor saves. Then a program rewrites the versions of the page
/// several times over, and calls wait for it. Three threads wait in vain beside that.
const APP: &str = r#"
import http.server, os, random, subprocess, threading, time
page = threading.Lock()
class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with page:
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
def edit():
    random.seed(7)
    size = 200000
    while True:
        time.sleep(random.expovariate(1.0) + 0.2)
        if not os.path.exists("saving"):
            continue
        with page:
            subprocess.run(["./checkin", str(size)])
        size += 2000
def idle(seconds):
    event = threading.Event()
    while True:
        event.wait(seconds)
for seconds in (0.25, 0.5, 1.0):
    threading.Thread(target=idle, args=(seconds,), daemon=True).start()
threading.Thread(target=edit, daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Writes a file again and again, as old systems of versions do: a quarter of a second of it.
const CHECKIN: &str = r#"
import os, sys, time
end = time.monotonic() + 0.25
while time.monotonic() < end:
    with open("page.txt,v", "wb") as versions:
        versions.write(b"x" * int(sys.argv[1]))
        versions.flush()
        os.fsync(versions.fileno())
"#;

/// Starts the app, with its program beside it.
fn start(folder: &Path, python: &Path) -> PythonApp {
    let program = folder.join("checkin");
    // Itself: a wrapper that runs the interpreter would give the program other names.
    let script = ["-c", "import sys; print(sys.executable, end='')"];
    let interpreter = Command::new(python).args(script).output().unwrap();
    let interpreter = String::from_utf8(interpreter.stdout).unwrap();
    std::fs::write(&program, format!("#!{interpreter}\n{CHECKIN}")).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    PythonApp::start(folder, python, APP)
}

/// The report on the file of a watch, as JSON.
fn report(folder: &Path, more: &[&str]) -> Value {
    let mut words = vec!["lab", "report", "--from", "watch.db", "--format", "json"];
    words.extend(more);
    let (code, out, err) = run(&words, folder);
    assert_eq!((code, err.as_str()), (0, ""));
    serde_json::from_str(&out).unwrap()
}

#[test]
fn the_program_behind_slow_calls_is_named_by_a_watch_and_the_timers_are_not() {
    let Some(python) = require("python3", Absent::Skip) else { return };
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("saving"), "").unwrap();
    let app = start(folder.path(), &python);
    let url = format!("http://{}/api", app.1);
    let words = ["lab", "watch", &url, "--every", "40ms", "--for", "40s"];
    let (code, _, notes) = run(&words, folder.path());
    assert_eq!(code, 0, "{notes}");
    let found = report(folder.path(), &["--slow", "60ms"]);
    let signals = found["signals"].as_array().unwrap();
    let blamed: Vec<&str> = signals
        .iter()
        .filter(|it| it["p"].as_f64().unwrap() <= 0.03 && it["ci"][0].as_f64().unwrap() > 0.0)
        .map(|it| it["signal"].as_str().unwrap())
        .collect();
    // Without the right to hear of short programs their number and their writes are all that shows.
    let hears_of_programs = !notes.contains("process connector");
    let unheard: &[&str] = &["forks", "writes to", "flushes of", "disk"];
    let names = if hears_of_programs { &["of checkin"] } else { unheard };
    let is_right = |it: &&str| names.iter().any(|name| it.contains(name));
    assert!(blamed.iter().any(is_right), "{blamed:?}\n{notes}\n{signals:#?}");
    let first = &found["verdicts"].as_array().unwrap().iter().find(|it| it["kind"] == "signal");
    assert!(first.unwrap()["explained"].as_f64().unwrap() > 0.5, "{first:?}");
    let words = ["lab", "report", "--from", "watch.db", "--slow", "60ms"];
    let (code, out, err) = run(&words, folder.path());
    assert_eq!((code, err.as_str()), (0, ""));
    let text = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("What happened") && text.contains(" and explains "), "{out}");
    assert!(text.contains(&format!("Signal: {}", blamed[0])), "{out}");
    let words = ["lab", "report", "--from", "watch.db", "--format", "html"];
    let (_, page, _) = run(&words, folder.path());
    assert!(page.contains("<h2>Signals of the host</h2>"), "{page}");
    assert!(page.contains("<title>Signal: "), "{page}");
}

#[test]
fn a_watch_of_a_target_that_never_answers_fails_at_its_end() {
    let folder = TempDir::new().unwrap();
    let words = ["lab", "watch", "exec:false", "--every", "20ms", "--for", "1s"];
    let (code, _, err) = run(&words, folder.path());
    assert!(code == 1 && err.contains("none of ") && err.contains(" calls succeeded"), "{err}");
    let found = report(folder.path(), &[]);
    assert!(found["failed"].as_i64().unwrap() > 0 && found["calls"] == 0, "{found}");
}

#[test]
fn a_watch_that_was_killed_goes_on_in_its_file_and_two_do_not_share_one() {
    let folder = TempDir::new().unwrap();
    let start = || {
        let mut command = Command::new(BINARY);
        command.args(["lab", "watch", "exec:true", "--every", "20ms"]).current_dir(folder.path());
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    let file = folder.path().join("watch.db");
    let count = |select: &str| {
        let opened = Connection::open(&file).ok()?;
        opened.query_row(select, [], |row| row.get::<_, i64>(0)).ok()
    };
    let calls = || count("SELECT count(*) FROM calls").unwrap_or(0);
    let mut first = start();
    until("calls are on disk", || calls() > 20);
    let (code, _, err) = run(&["lab", "watch", "exec:true", "--for", "1s"], folder.path());
    assert!(code == 1 && err.contains("another watch writes it"), "{err}");
    std::os::unix::fs::symlink("watch.db", folder.path().join("link.db")).unwrap();
    let words = ["lab", "watch", "exec:true", "--for", "1s", "-o", "link.db"];
    let (code, _, err) = run(&words, folder.path());
    assert!(code == 1 && err.contains("another watch writes it"), "{err}");
    first.kill().unwrap();
    first.wait().unwrap();
    let before = calls();
    let mut second = start();
    until("more calls are on disk", || calls() > before + 20);
    let killed = Command::new("kill").args(["-s", "TERM", &second.id().to_string()]).status();
    assert!(killed.unwrap().success() && second.wait().unwrap().success());
    assert_eq!(count("SELECT count(*) FROM runs"), Some(2));
    assert_eq!(count("SELECT count(*) FROM notes WHERE note = 'the watch ended'"), Some(1));
    let found = report(folder.path(), &[]);
    assert_eq!(found["calls"].as_i64().unwrap(), calls());
    assert!(found["phases"].as_array().unwrap().iter().any(|it| it["name"] == "run"), "{found}");
}

#[test]
fn what_makes_no_sense_is_wrong_usage_and_a_fifo_is_left_out() {
    let folder = TempDir::new().unwrap();
    for (option, value) in [("--every", "2d"), ("--keep", "0s"), ("--size", "0")] {
        let words = ["lab", "watch", "exec:true", option, value];
        let (code, _, err) = run(&words, folder.path());
        assert!(code == 2 && err.contains(&format!("`{option}` is at ")), "{err}");
    }
    assert!(Command::new("mkfifo").arg(folder.path().join("gc.log")).status().unwrap().success());
    let words = ["lab", "watch", "exec:true", "--for", "1s", "--collector-log", "gc.log"];
    let (code, _, err) = run(&words, folder.path());
    assert!(code == 0 && err.contains("left out: `gc.log`"), "{err}");
}

#[test]
fn a_file_that_is_deleted_meanwhile_is_said_to_be_and_fails_the_watch() {
    let folder = TempDir::new().unwrap();
    let mut command = Command::new(BINARY);
    command.args(["lab", "watch", "exec:true", "--every", "20ms"]).current_dir(folder.path());
    let child = command.stderr(Stdio::piped()).spawn().unwrap();
    let file = folder.path().join("watch.db");
    let runs = || {
        let opened = Connection::open(&file).ok()?;
        opened.query_row("SELECT count(*) FROM calls", [], |row| row.get::<_, i64>(0)).ok()
    };
    until("calls are on disk", || runs().is_some_and(|calls| calls > 0));
    std::fs::remove_file(&file).unwrap();
    let killed = Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let out = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && err.contains("was deleted or replaced"), "{err}");
}

#[test]
fn a_file_of_another_program_is_neither_written_nor_read() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("watch.db");
    Connection::open(&file)
        .unwrap()
        .execute_batch("CREATE TABLE x (y); INSERT INTO x VALUES (1)")
        .unwrap();
    let (code, _, err) = run(&["lab", "watch", "exec:true", "--for", "1s"], folder.path());
    assert!(code == 1 && err.contains("the database of another program"), "{err}");
    let (code, _, err) = run(&["lab", "report", "--from", "watch.db"], folder.path());
    assert!(code == 1 && err.contains("no file of `tidegate lab watch`"), "{err}");
    let words = ["lab", "probe", "exec:true", "-n", "1", "--save", "watch.db"];
    let (code, _, err) = run(&words, folder.path());
    assert!(code == 1 && err.contains("it is a database"), "{err}");
    std::fs::write(&file, "no database").unwrap();
    let (code, _, err) = run(&["lab", "watch", "exec:true", "--for", "1s"], folder.path());
    assert!(code == 1 && err.contains("not a database"), "{err}");
}

#[test]
fn of_several_targets_one_is_reported_by_its_name_and_statsd_is_told_of_all() {
    let folder = TempDir::new().unwrap();
    let statsd = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = statsd.local_addr().unwrap().to_string();
    let words = [
        "lab",
        "watch",
        "exec:true",
        "exec:false",
        "--every",
        "50ms",
        "--for",
        "3s",
        "--statsd",
        &address,
    ];
    let (code, _, err) = run(&words, folder.path());
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = run(&["lab", "report", "--from", "watch.db"], folder.path());
    assert!(
        code == 1 && err.contains("several targets") && err.contains("`true`, `false`"),
        "{err}"
    );
    let found = report(folder.path(), &["--target", "false"]);
    assert!(found["failed"].as_i64().unwrap() > 5 && found["calls"] == 0, "{found}");
    statsd.set_nonblocking(true).unwrap();
    let mut told = String::new();
    let mut datagram = [0; 2048];
    while let Ok(read) = statsd.recv(&mut datagram) {
        told += &String::from_utf8_lossy(&datagram[..read]);
        told.push('\n');
    }
    for name in ["lab.true.time:", "lab.false.failed:", "lab.host.runnable_threads:"] {
        assert!(told.contains(name), "{name}\n{told}");
    }
}

#[test]
fn a_full_disk_is_said_and_what_it_refused_is_written_once_there_is_room() {
    let folder = TempDir::new().unwrap();
    let disk = folder.path().join("disk");
    let Some(_disk) = SmallDisk::mount(&disk, 1).unwrap() else { return };
    let said = folder.path().join("said");
    let mut command = Command::new(BINARY);
    command.args(["lab", "watch", "exec:true", "--every", "5ms"]).current_dir(&disk);
    command.stderr(std::fs::File::create(&said).unwrap());
    let mut watch = command.spawn().unwrap();
    let count = |select: &str| {
        let opened = Connection::open(disk.join("watch.db")).ok()?;
        opened.query_row(select, [], |row| row.get::<_, i64>(0)).ok()
    };
    until("calls are on disk", || count("SELECT count(*) FROM calls").unwrap_or(0) > 20);
    let filler = disk.join("filler");
    // As much as there is room for.
    let _ = std::fs::write(&filler, vec![0; 2 << 20]);
    let text = || std::fs::read_to_string(&said).unwrap();
    until("the full disk is said", || text().contains("the file takes nothing now"));
    std::fs::remove_file(&filler).unwrap();
    let before = count("SELECT count(*) FROM calls").unwrap();
    until("calls are written again", || count("SELECT count(*) FROM calls").unwrap_or(0) > before);
    watch.kill().unwrap();
    watch.wait().unwrap();
    // Nothing that waited is lost, which were five seconds of calls and more.
    let gap = "SELECT max(gap) FROM (SELECT at_unix_ms - lag(at_unix_ms) OVER \
               (ORDER BY at_unix_ms) AS gap FROM calls)";
    let opened = Connection::open(disk.join("watch.db")).unwrap();
    let gap: f64 = opened.query_row(gap, [], |row| row.get(0)).unwrap();
    assert!(gap < 4_000.0, "{gap} ms\n{}", text());
}
