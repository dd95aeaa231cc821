//! Claims about `tidegate events` while what it depends on stands still: a disk, a database.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
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

#[test]
fn a_log_that_begins_while_the_database_is_dead_is_behind_and_not_lost() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let postgres = Postgres::start();
    let url = postgres.database();
    let config = CONFIG.replace("sqlite:sink.db", &url).replace("access.log", "access.log*");
    append(folder, 0..10);
    let server = start(folder, &config, "tidegate.toml");
    until("the delivery", || first(server.address())["rows"] == 10);

    postgres.kill();
    std::fs::rename(folder.join("access.log"), folder.join("access.log.1")).unwrap();
    append(folder, 10..30);
    let length = std::fs::metadata(folder.join("access.log")).unwrap().len();
    until("the trouble", || first(server.address())["last_error"].is_string());
    until("the bytes", || first(server.address())["bytes_behind"] == length);
    assert_eq!(first(server.address())["state"], "failing");

    postgres.start_again();
    let sums = "SELECT COUNT(*), SUM(count) FROM by_id";
    until("the delivery", || postgres.query(&url, sums) == "30|30");
    until("the end of the trouble", || {
        let pipeline = first(server.address());
        pipeline["last_error"].is_null() && pipeline["bytes_behind"] == 0
    });
}

/// Lines whose keys, of 400 bytes each, fill many windows.
const PILED_UP: u64 = 120_000;
/// How often as many lines must be read as before until nothing more is read.
const LOOKS: u32 = 300;
const WINDOW: &str = "\n[events]\nwindow_bytes_max = \"2MB\"\n";
/// What the process may hold beside what it held at rest: a few windows. All keys would be more.
const MORE_KB: u64 = 50_000;

fn pile_up(folder: &Path, ids: std::ops::Range<u64>) {
    let pad = "x".repeat(390);
    let mut text = String::new();
    for id in ids {
        let time = format!("21/Nov/2026:10:{:02}:{:02}", id / 60_000 % 60, id / 1000 % 60);
        let line = "HTTP/1.1\" 200 1 \"-\" \"-\"";
        writeln!(text, "192.0.2.7 - - [{time} +0000] \"GET /p?id={pad}{id} {line}").unwrap();
    }
    let mut log = std::fs::OpenOptions::new().append(true).open(folder.join("access.log")).unwrap();
    log.write_all(text.as_bytes()).unwrap();
}

/// Memory that a process has of its own, in KB: not that of its program's file.
fn own_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn what_piles_up_before_a_dead_database_is_delivered_once_in_bounded_memory() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let postgres = Postgres::start();
    let url = postgres.database();
    let config = CONFIG.replace("sqlite:sink.db", &url) + WINDOW;
    append(folder, 0..10);
    let server = start(folder, &config, "tidegate.toml");
    until("the first lines", || first(server.address())["rows"] == 10);
    let at_rest = own_kb(&server);

    postgres.kill();
    pile_up(folder, 0..PILED_UP);
    until("the error", || first(server.address())["last_error"].is_string());
    let (mut read, mut looks) = (Value::Null, 0);
    until("the end of reading", || {
        let lines = first(server.address())["lines"].take();
        looks = if lines == read { looks + 1 } else { 0 };
        read = lines;
        looks == LOOKS
    });
    assert!(read.as_u64() < Some(PILED_UP), "{read}");
    postgres.start_again();
    let sums = "SELECT COUNT(*), SUM(count), MAX(count) FROM by_id";
    let all = format!("{0}|{0}|1", PILED_UP + 10);
    let mut most = 0;
    until("the delivery", || {
        most = most.max(own_kb(&server));
        first(server.address())["bytes_behind"] == 0 && postgres.query(&url, sums) == all
    });
    assert_eq!(first(server.address())["lines"], PILED_UP + 10, "{}", first(server.address()));
    let more = most - at_rest;
    assert!(more < MORE_KB, "{more} KB more than {at_rest} KB");
}
