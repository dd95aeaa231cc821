//! Claims about `tidegate events` with many sources and sinks: what they take together, and that
//! each goes its own way.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use serde_json::Value;
use testkit::{Server, TempDir};

use crate::events::start;
use crate::running::until;

const SOURCES: u64 = 200;
/// Lines of each source, all with keys of their own.
const LINES: u64 = 500;

/// A configuration of sources `s0`, `s1`, … with a log each, and what `more` says.
fn config(sources: u64, more: &str) -> String {
    let mut text = "node = \"n\"\n".to_owned();
    for at in 0..sources {
        writeln!(text, "[[source]]\nname = \"s{at}\"\nfiles = [\"s{at}.log\"]\n").unwrap();
    }
    text + more
}

const ROLLUP: &str = "[[rollup]]\nname = \"hits\"\nby = [\"path\"]\nsink = \"main\"\n";
const SINK: &str = "[[sink]]\nname = \"main\"\nurl = \"sqlite:sink.db\"\nflush = \"20ms\"\n";

fn append(folder: &Path, source: u64, lines: std::ops::Range<u64>) {
    let mut text = String::new();
    for id in lines {
        let line = format!("GET /s{source}/{id} HTTP/1.1\" 200 1 \"-\" \"-\"");
        writeln!(text, "192.0.2.7 - - [21/Nov/2026:10:00:00 +0000] \"{line}").unwrap();
    }
    let file = folder.join(format!("s{source}.log"));
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Rows of the table, and lines counted in them.
fn counted(folder: &Path) -> (u64, u64) {
    let database = rusqlite::Connection::open(folder.join("sink.db")).unwrap();
    let sums = "SELECT COUNT(*), COALESCE(SUM(count), 0) FROM hits";
    let sums = database.query_row(sums, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (rows, lines): (i64, i64) = sums.unwrap_or_default();
    (rows.unsigned_abs(), lines.unsigned_abs())
}

fn pipelines(address: SocketAddr) -> Vec<Value> {
    let mut document = Value::Null;
    if let Ok(stream) = TcpStream::connect(address) {
        document = serde_json::from_reader(stream).unwrap_or_default();
    }
    document["pipelines"].as_array().cloned().unwrap_or_default()
}

/// A number of `/proc/PID/status`.
fn of_process(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn two_hundred_sources_take_few_threads_and_bounded_memory() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    for source in 0..SOURCES {
        append(folder, source, 0..LINES);
    }
    let more = format!("{ROLLUP}{SINK}[events]\nwindow_bytes_max = \"8MB\"\n");
    let server = start(folder, &config(SOURCES, &more), "tidegate.toml");
    let (mut threads, mut own_kb) = (0, 0);
    let mut look = || {
        threads = threads.max(of_process(&server, "Threads:"));
        own_kb = own_kb.max(of_process(&server, "RssAnon:"));
    };
    let all = SOURCES * LINES;
    until("the first delivery", || {
        look();
        counted(folder) == (all, all)
    });
    for source in 0..SOURCES {
        append(folder, source, LINES..LINES + 1);
    }
    until("the second delivery", || {
        look();
        counted(folder) == (all + SOURCES, all + SOURCES)
    });
    until("all to be caught up", || {
        look();
        let all = pipelines(server.address());
        all.len() as u64 == SOURCES && all.iter().all(|one| one["state"] == "caught up")
    });
    let cores = std::thread::available_parallelism().unwrap().get() as u64;
    assert!(threads <= 2 * cores + 8, "{threads} threads");
    // With threads and buffers for each source it was more than a gigabyte.
    assert!(own_kb < 150_000 + cores * 8_000, "{own_kb} KB");
    let restarts: u64 =
        pipelines(server.address()).iter().filter_map(|one| one["restarts"].as_u64()).sum();
    assert_eq!(restarts, 0);
}

#[test]
fn a_database_that_never_answers_delays_no_other_sink() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    // The system accepts connections for it, and nobody reads them.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let more = format!(
        "{ROLLUP}{SINK}[[rollup]]\nname = \"others\"\nby = [\"status\"]\nsink = \"silent\"\n\
         [[sink]]\nname = \"silent\"\nurl = \"postgres://u:p@{address}/d\"\nflush = \"20ms\"\n"
    );
    (0..10).for_each(|source| append(folder, source, 0..20));
    let server = start(folder, &config(10, &more), "tidegate.toml");
    silent.accept().unwrap();
    until("the first delivery", || counted(folder) == (200, 200));
    (0..10).for_each(|source| append(folder, source, 20..30));
    until("the second delivery", || counted(folder) == (300, 300));
    let all = pipelines(server.address());
    let silent = all.iter().filter(|one| one["sink"] == "silent");
    assert_eq!(silent.map(|one| one["batches"].as_u64().unwrap()).sum::<u64>(), 0);
}

#[test]
fn a_source_that_fails_starts_again_alone() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let text = config(3, &format!("{ROLLUP}{SINK}"));
    let text = text.replace("name = \"s1\"", "name = \"s1\"\nstrict = true");
    (0..3).for_each(|source| append(folder, source, 0..20));
    let server = start(folder, &text, "tidegate.toml");
    until("the first delivery", || counted(folder) == (60, 60));
    let log = std::fs::read(folder.join("s1.log")).unwrap();
    std::fs::write(folder.join("s1.log"), "").unwrap();
    let of = |source: &str, key: &str| {
        let all = pipelines(server.address());
        all.iter().find(|one| one["source"] == source).map_or(Value::Null, |one| one[key].clone())
    };
    // And once more where it starts again: what is not there is not forgotten.
    until("the strict source to fail twice", || of("s1", "restarts").as_u64() > Some(1));
    append(folder, 0, 20..30);
    append(folder, 2, 20..30);
    until("the others to go on", || counted(folder) == (80, 80));
    std::fs::write(folder.join("s1.log"), log).unwrap();
    append(folder, 1, 20..30);
    until("it to go on", || counted(folder) == (90, 90));
    assert_eq!((of("s0", "restarts"), of("s2", "restarts")), (0.into(), 0.into()));
}
