//! Claims about the record process that `tidegate serve` keeps running.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use testkit::Client;

use crate::running::{Running, until};

const CONFIG: &str = r#"
[journal]
dir = "data/journal"
sync = "always"

[[route]]
path = "/read"
collect = "only"

[[rollup]]
name = "reads"
by = ["query.item"]

[[sink]]
name = "main"
url = "sqlite:data/sink.db"
flush = "20ms"
"#;

fn read(server: &Running, items: std::ops::Range<u32>) {
    for item in items {
        let reply = Client::post(server.public, &format!("/read?item={item}"), "").send();
        assert_eq!(reply.status, 204);
    }
}

/// Items, and reads of them.
fn held(folder: &Path) -> (i64, i64) {
    let Ok(database) = Connection::open(folder.join("data/sink.db")) else { return (0, 0) };
    let sums = "SELECT COUNT(*), COALESCE(SUM(count), 0) FROM reads";
    database.query_row(sums, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap_or_default()
}

fn pid(server: &Running) -> Option<u64> {
    server.status()["record"]["pid"].as_u64()
}

fn is_alive(pid: u64) -> bool {
    // A process that has ended and was not waited for has no command line.
    std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| !line.is_empty())
}

fn kill(pid: u64) {
    let sent = std::process::Command::new("kill").args(["-s", "KILL", &pid.to_string()]).status();
    assert!(sent.unwrap().success());
}

#[test]
fn what_is_recorded_is_delivered() {
    let server = Running::start(CONFIG, |_| {});
    read(&server, 0..20);
    until("the rows", || held(server.folder.path()) == (20, 20));
    until("the status", || server.status()["record"]["document"]["pipelines"][0]["rows"] == 20);
    let (_, said, _) = crate::running::run(&["events", "status"], server.folder.path());
    assert!(said.contains("journal to main"), "{said}");
}

#[test]
fn killed_it_comes_back_and_its_death_is_an_alarm() {
    let server = Running::start(CONFIG, |_| {});
    read(&server, 0..10);
    until("the rows", || held(server.folder.path()) == (10, 10));
    until("the record process", || pid(&server).is_some());
    let first = pid(&server).unwrap();
    kill(first);
    read(&server, 10..20);
    until("another", || pid(&server).is_some_and(|pid| pid != first));
    until("the rest of the rows", || held(server.folder.path()) == (20, 20));
    let status = server.status();
    assert_eq!(status["record"]["restarts"], 1, "{status}");
    let alarms = status["alarms"].to_string();
    assert!(alarms.contains("record process ended by signal: 9"), "{alarms}");
}

#[test]
fn it_ends_with_the_edge_in_order_and_when_the_edge_is_killed() {
    for signal in ["TERM", "KILL"] {
        let mut server = Running::start(CONFIG, |_| {});
        read(&server, 0..10);
        until("the record process", || pid(&server).is_some());
        let record = pid(&server).unwrap();
        server.server.signal(signal).unwrap();
        server.server.wait().unwrap();
        until("the record process to end", || !is_alive(record));
        if signal == "TERM" {
            assert_eq!(held(server.folder.path()), (10, 10));
        }
    }
}

#[test]
fn without_rollups_there_is_no_record_process() {
    let config = CONFIG.split("[[rollup]]").next().unwrap();
    let server = Running::start(config, |_| {});
    assert_eq!(server.status()["record"], Value::Null);
}
