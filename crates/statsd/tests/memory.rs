//! That the bound of names holds for all that they take: tables, flushes that wait, and backends.
#![expect(clippy::unwrap_used, reason = "a failing test says where")]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use statsd::{StatsdServer, config};
use testkit::{CountingAllocator, allocated_bytes};

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// Between two looks at what is allocated.
const SAMPLE: Duration = Duration::from_micros(200);
const NAMES_BYTES_MAX: usize = 20_000_000;
/// Buffers of sockets, and of parts of flushes that are under way. Those are mostly 2,000 points of
/// OTLP, which two threads may render at a time. They do not grow with the number of names.
const BUFFERS_BYTES: usize = 56_000_000;

fn start(folder: &Path, input: u16, stalled: u16, away: u16) -> StatsdServer {
    let config = serde_json::from_value(json!({
        "listen": [format!("tcp:127.0.0.1:{input}")], "management": "off", "flush": "1s",
        "receivers": 1, "names_bytes_max": format!("{NAMES_BYTES_MAX}B"),
        "percentiles": [50, 90, 99.9],
        "backend": [
            { "kind": "graphite", "to": format!("127.0.0.1:{stalled}") },
            { "kind": "otlp", "to": format!("http://127.0.0.1:{away}") },
            { "kind": "prometheus", "listen": "off" },
        ],
    }));
    let config: config::Config = config.unwrap();
    let plan = config::plan(&config, folder, &mut |key, reason| panic!("{key}: {reason}"));
    StatsdServer::start(plan, None).unwrap()
}

/// Floods a server with names of a kind, while one backend is stalled and another away. Returns the
/// most bytes that were allocated on top of an idle server's, and how many names fitted.
fn flood(kind: &str) -> (usize, u64) {
    let folder = tempfile::tempdir().unwrap();
    // It takes connections and never reads.
    let stalled = TcpListener::bind("127.0.0.1:0").unwrap();
    let stalled_port = stalled.local_addr().unwrap().port();
    let server = start(folder.path(), testkit::free_port(), stalled_port, testkit::free_port());
    let address = server.state().plan().inputs[0].to_string();
    let value = if kind == "s" { "member" } else { "7" };
    let long = "x".repeat(400);
    let lines: String = (0..30_000).map(|name| format!("{long}.{name}:{value}|{kind}\n")).collect();
    let before = allocated_bytes();
    let (most, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                most.fetch_max(allocated_bytes(), Ordering::Relaxed);
                thread::park_timeout(SAMPLE);
            }
        });
        let mut stream = TcpStream::connect(address.strip_prefix("tcp:").unwrap()).unwrap();
        let mut backends = Vec::new();
        // Until flushes waited in memory, and one was spooled for either backend.
        while backends.len() < 2 || backends.contains(&0) {
            stream.write_all(lines.as_bytes()).unwrap();
            let status = server.state().status();
            let spooled = status["backends"].as_array().unwrap().iter();
            let spooled = spooled.filter(|backend| backend["name"] != "prometheus");
            backends = spooled.map(|b| b["spooled_bytes"].as_u64().unwrap()).collect();
            assert!(status["overflowed"].as_u64().unwrap() > 0 || backends.contains(&0));
        }
        ends.store(true, Ordering::Relaxed);
    });
    let status = server.state().status();
    let series = status["prometheus"]["series"].as_u64().unwrap();
    server.end();
    (most.into_inner().saturating_sub(before), series)
}

#[test]
fn names_of_every_kind_stay_within_their_bytes_with_three_backends() {
    for kind in ["c", "g", "ms", "s"] {
        let (most, names) = flood(kind);
        testkit::notice(&format!("{kind}: {most} bytes for {names} names of {NAMES_BYTES_MAX}"));
        assert!(most < NAMES_BYTES_MAX + BUFFERS_BYTES, "{kind}: {most} bytes for {names} names");
        // How many there are at the end depends on how many flushes wait then.
        assert!(names > 0, "{kind}: no names");
    }
}
