//! `tidegate lab strace` on a real app under a real strace: the hunt of source 002.
//!
//! At each save the app rewrites a growing file and runs a program. Beside that, threads wait for
//! 250, 500 and 1,000 ms, and do nothing.

use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{Absent, Client, TempDir, require, skip};

use crate::python_app::PythonApp;
use crate::running::{BINARY, run, until};

const APP: &str = r#"
import http.server, os, subprocess, threading
class Save(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        with open("page.txt", "ab") as page:
            page.write(b"x" * 50)
        with open("page.txt,v", "wb") as versions:
            versions.write(open("page.txt", "rb").read() * 40)
            versions.flush()
            os.fsync(versions.fileno())
        subprocess.run(["/bin/true", "-l", "page.txt"])
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *_):
        pass
def idle(seconds):
    event = threading.Event()
    while True:
        event.wait(seconds)
for seconds in (0.25, 0.5, 1.0):
    threading.Thread(target=idle, args=(seconds,), daemon=True).start()
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Save)
print(server.server_port, flush=True)
server.serve_forever()
"#;

/// Whether this machine lets one process trace another.
fn may_trace(pid: u32) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    text.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
}

#[test]
fn the_writer_of_a_running_app_is_convicted_and_its_timers_are_cleared() {
    if require("strace", Absent::Skip).is_none() {
        return;
    }
    let Some(python) = require("python3", Absent::Skip) else { return };
    let folder = TempDir::new().unwrap();
    let app = PythonApp::start(folder.path(), &python, APP);
    let pid = app.0.id();
    let mut command = Command::new(BINARY);
    command.args(["lab", "strace", &pid.to_string(), "--for", "1h", "--format", "ndjson"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut strace = command.spawn().unwrap();
    let traces = || may_trace(pid) || strace_has_ended(&mut strace);
    until("the app is traced", traces);
    if !may_trace(pid) {
        return skip("this machine lets no process trace another");
    }
    // Until each timer has run out five times, also where the processors are taken by others.
    let mut saves = 0;
    let begun = std::time::Instant::now();
    until("the longest timer has run out", || {
        assert_eq!(Client::post(app.1, "/save", "text=1").send().status, 200);
        saves += 1;
        saves >= 30 && begun.elapsed().as_secs() >= 12
    });
    assert!(
        Command::new("kill")
            .args(["-s", "INT", &strace.id().to_string()])
            .status()
            .unwrap()
            .success()
    );
    let output = strace.wait_with_output().unwrap();
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of =
        |kind: &str| lines.iter().filter(|line| line["kind"] == *kind).cloned().collect::<Vec<_>>();
    let findings: Vec<String> =
        of("finding").iter().map(|it| it["text"].as_str().unwrap().to_owned()).collect();
    let findings = findings.join("\n");
    let requests = of("requests")[0]["count"].as_u64().unwrap();
    assert!(requests + 1 >= saves && requests <= saves, "{requests} of {saves}\n{findings}");
    for timeout in ["250 ms", "500 ms", "1.00 s"] {
        expect_cleared(timeout, &findings);
    }
    let written =
        of("file").into_iter().find(|file| file["path"].as_str().unwrap().ends_with("/page.txt,v"));
    let written = written.unwrap();
    assert!(written["syncs"].as_u64().unwrap() >= requests, "{written}");
    let bytes: u64 = (1..=saves).map(|save| save * 50 * 40).sum();
    let seen = written["bytes_written"].as_u64().unwrap();
    assert!(seen <= bytes && seen + saves * 50 * 40 >= bytes, "{seen} of {bytes}");
    let children = of("children");
    let child = children.iter().find(|it| it["command"] == "/bin/true -l page.txt").unwrap();
    assert!(child["of_requests"].as_u64().unwrap() >= requests, "{child}");
    let first = &of("on_path")[0];
    assert!(
        first["target"] == "child" || first["target"].as_str().unwrap().contains("page.txt"),
        "{first}"
    );
}

/// On a busy machine requests wait a little for the interpreter's lock, by `futex`, too.
fn expect_cleared(timeout: &str, findings: &str) {
    let timer = format!("`futex` with a timeout of {timeout} is a timer");
    let found = findings.lines().find(|line| line.starts_with(&timer));
    let found = found.unwrap_or_else(|| panic!("{timeout}\n{findings}"));
    let share = found.split_once("requests waited ").and_then(|(_, rest)| rest.split_once(" %"));
    let is_cleared = match share {
        Some((share, _)) => share.parse::<f64>().unwrap() < 10.0,
        None => found.ends_with("no request waited for them, so their peak is no cause."),
    };
    assert!(is_cleared, "{found}");
}

fn strace_has_ended(strace: &mut Child) -> bool {
    strace.try_wait().unwrap().is_some()
}

#[test]
fn a_packed_trace_is_read_and_drawn_and_what_is_none_is_refused() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("trace"), "7 1.5 fsync(3</x>) = 0 <0.020000>\n").unwrap();
    let packed = Command::new("gzip").args(["-k", "trace"]).current_dir(folder.path()).status();
    assert!(packed.unwrap().success());
    let (code, _, err) =
        run(&["lab", "strace", "trace.gz", "--format", "html", "-o", "a.html"], folder.path());
    assert_eq!((code, err.as_str()), (0, ""));
    let page = std::fs::read_to_string(folder.path().join("a.html")).unwrap();
    assert!(page.contains("System calls of trace.gz") && page.contains("<td>/x</td>"), "{page}");
    let (code, _, err) = run(&["lab", "strace", "a.html"], folder.path());
    assert!(code == 1 && err.contains("is a call of strace or perf trace"), "{err}");
    let (code, _, err) = run(&["lab", "strace", "absent"], folder.path());
    assert!(code == 1 && err.starts_with("error: open `absent`: No such file"), "{err}");
}
