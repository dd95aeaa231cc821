//! Claims about `tidegate events` while what it depends on stands still: a disk, a database.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use testkit::{Absent, Postgres, Server, TempDir, require};

use crate::events::{CONFIG, append, first, held, spawn, start};
use crate::running::{run, until};

/// Lines that are read one after the other while nothing is committed.
const READ_MEANWHILE: u32 = 20;

#[test]
fn a_sync_that_stalls_for_ten_seconds_stops_no_reading() {
    if require("strace", Absent::Skip).is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let config = CONFIG.replace("files =", "sync = true\nfiles =");
    append(folder, 0..10);
    std::fs::write(folder.join("tidegate.toml"), &config).unwrap();
    assert_eq!(run(&["events", "run", "--once"], folder).0, 0);

    let trace = folder.join("trace");
    let mut strace = Command::new("strace");
    // With -D the program is this test's child, and not strace's.
    strace.args(["-D", "-f", "-qq", "--seccomp-bpf", "-e", "trace=fdatasync", "-o"]).arg(&trace);
    strace.args(["-e", "inject=fdatasync:delay_enter=10s:when=1"]);
    let server = spawn(folder, &config, "tidegate.toml", |program| {
        strace.arg(program);
        strace
    });
    let mut written = 10;
    for _ in 0..READ_MEANWHILE {
        append(folder, written..written + 1);
        written += 1;
        until("the line to be read", || first(server.address())["lines"] == written - 10);
    }
    assert_eq!(first(server.address())["batches"], 0, "the first sync stalls");
    until("the delivery", || held(folder) == (written, written));
    let calls = std::fs::read_to_string(trace).unwrap();
    assert!(calls.contains("(DELAYED)"), "{calls}");
}

/// Lines whose keys, of 400 bytes each, fill many windows.
const PILED_UP: u64 = 160_000;
const WINDOW: &str = "\n[events]\nwindow_bytes_max = \"2MB\"\n";
/// What the process may hold at its peak: itself, 65 MB as a debug binary, and a few windows, 5 to
/// 25 MB as it happens. All keys beside that would be more.
const PEAK_KB: u64 = 110_000;

fn pile_up(folder: &Path, ids: std::ops::Range<u64>) {
    let pad = "x".repeat(390);
    let mut text = String::new();
    for id in ids {
        let time = format!("21/Nov/2026:10:{:02}:{:02}", id / 60_000 % 60, id / 1000 % 60);
        let line = "HTTP/1.1\" 200 1 \"-\" \"-\"";
        writeln!(text, "192.0.2.7 - - [{time} +0000] \"GET /p?id={pad}{id} {line}").unwrap();
    }
    std::fs::write(folder.join("access.log"), text).unwrap();
}

/// The most memory that a process has had, in KB.
fn peak_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn what_piles_up_before_a_dead_database_is_delivered_once_in_bounded_memory() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let postgres = Postgres::start();
    let url = postgres.database();
    let config = CONFIG.replace("sqlite:sink.db", &url);
    append(folder, 0..10);
    std::fs::write(folder.join("tidegate.toml"), &config).unwrap();
    let (code, _, said) = run(&["events", "run", "--once"], folder);
    assert_eq!(code, 0, "{said}");

    postgres.kill();
    std::fs::rename(folder.join("access.log"), folder.join("access.log.1")).unwrap();
    pile_up(folder, 0..PILED_UP);
    let config = config.replace("access.log", "access.log*") + WINDOW;
    let server = start(folder, &config, "tidegate.toml");
    until("the error", || first(server.address())["last_error"].is_string());
    postgres.start_again();
    let sums = "SELECT COUNT(*), SUM(count), MAX(count) FROM by_id";
    let all = format!("{0}|{0}|1", PILED_UP + 10);
    until("the delivery", || postgres.query(&url, sums) == all);
    assert_eq!(first(server.address())["lines"], PILED_UP, "{}", first(server.address()));
    let peak = peak_kb(&server);
    assert!(peak < PEAK_KB, "{peak} KB");
}
