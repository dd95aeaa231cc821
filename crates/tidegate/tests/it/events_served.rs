//! Claims about the record process that `tidegate serve` keeps running.

use std::path::Path;

use rusqlite::Connection;
use serde_json::Value;
use testkit::{Client, TempDir};

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

/// The alarms that an operator may end by an acknowledgement, by their ids.
fn losses(server: &Running) -> Vec<String> {
    let status = server.status();
    let alarms = status["alarms"].as_array().unwrap().clone();
    let id = |alarm: &Value| alarm.as_str()?.split_once("losses --ack ").map(|it| it.1.to_owned());
    alarms.iter().filter_map(id).collect()
}

#[test]
fn a_journal_that_is_removed_or_overwritten_stops_no_delivery_and_is_an_alarm_until_acknowledged() {
    let damages: [fn(&Path); 3] = [
        |journal| std::fs::remove_dir_all(journal).unwrap(),
        |journal| {
            let file = journal.join("00000000000000000000.log");
            let length = std::fs::metadata(&file).unwrap().len();
            let noise: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
            std::fs::write(file, noise).unwrap();
        },
        |journal| std::fs::write(journal.join("00000000000000000000.log"), "").unwrap(),
    ];
    for damage in damages {
        let server = Running::start_in(ended_and(damage), CONFIG);
        read(&server, 20..30);
        until("what came since", || held(server.folder.path()) == (30, 30));
        until("the alarm", || losses(&server).len() == 1);
        // It outlives a restart, and comes no second time.
        let server = server.crash_and_restart(CONFIG);
        read(&server, 30..40);
        until("what came since", || held(server.folder.path()) == (40, 40));
        let [id] = losses(&server).try_into().unwrap();
        let (code, listed, _) = crate::running::run(&["events", "losses"], server.folder.path());
        assert!(code == 0 && listed.contains(&id), "{listed}");
        let unknown =
            crate::running::run(&["events", "losses", "--ack", "x"], server.folder.path());
        assert!(unknown.0 == 1 && unknown.2.contains("no open loss"), "{}", unknown.2);
        let done = crate::running::run(&["events", "losses", "--ack", &id], server.folder.path());
        assert!(done.0 == 0 && done.1.contains("acknowledged"), "{}", done.1);
        assert_eq!(losses(&server), [""; 0]);
    }
}

/// A server that has delivered 20 reads and was ended, and what was done to its journal then.
fn ended_and(damage: impl FnOnce(&Path)) -> TempDir {
    let server = Running::start(CONFIG, |_| {});
    read(&server, 0..20);
    until("the rows", || held(server.folder.path()) == (20, 20));
    let Running { mut server, folder, .. } = server;
    server.signal("TERM").unwrap();
    server.wait().unwrap();
    damage(&folder.path().join("data/journal"));
    folder
}

#[test]
fn a_node_with_another_name_counts_nothing_of_its_journal_again() {
    let folder = ended_and(|_| {});
    let renamed = format!("node = \"another\"\n{CONFIG}");
    let server = Running::start_in(folder, &renamed);
    read(&server, 20..30);
    until("what came since", || held(server.folder.path()).0 == 30);
    assert_eq!(held(server.folder.path()), (30, 30));
    assert_eq!(losses(&server), [""; 0]);
    let (code, said, error) = crate::running::run(&["events", "verify"], server.folder.path());
    assert_eq!(code, 0, "{said}{error}");
}

#[test]
fn a_delivery_that_ends_when_it_is_done_fails_where_something_is_lost() {
    let once = |folder: &Path| crate::running::run(&["events", "run", "--once"], folder);
    let whole = ended_and(|_| {});
    assert_eq!(once(whole.path()).0, 0);
    let cut = ended_and(|journal| {
        std::fs::write(journal.join("00000000000000000000.log"), "").unwrap();
    });
    let (code, _, said) = once(cut.path());
    assert!(code == 1 && said.contains("a loss was found"), "{said}");
}

#[test]
fn a_loss_whose_length_is_not_known_is_not_shown_as_no_bytes() {
    let folder = ended_and(|journal| {
        std::fs::remove_dir_all(journal).unwrap();
        std::fs::remove_file(journal.with_extension("synced")).unwrap();
    });
    let server = Running::start_in(folder, CONFIG);
    until("the alarm", || losses(&server).len() == 1);
    let pipeline = || server.status()["record"]["document"]["pipelines"][0].clone();
    until("the count", || pipeline()["losses"] == 1);
    assert_eq!(
        (&pipeline()["lost_bytes"], &pipeline()["unmeasured_losses"]),
        (&0.into(), &1.into())
    );
    let (_, said, _) = crate::running::run(&["events", "status"], server.folder.path());
    assert!(
        said.contains("since the start, and more in a loss whose length is not known"),
        "{said}"
    );
}

#[test]
fn a_loss_that_cannot_be_written_outlives_the_record_process_and_is_written_once_it_can_be() {
    let server = Running::start(CONFIG, |_| {});
    read(&server, 0..20);
    until("the rows", || held(server.folder.path()) == (20, 20));
    let Running { mut server, folder, .. } = server;
    server.signal("TERM").unwrap();
    server.wait().unwrap();
    std::fs::remove_dir_all(folder.path().join("data/journal")).unwrap();
    let book = folder.path().join("data/losses");
    std::fs::create_dir(&book).unwrap();
    let server = Running::start_in(folder, CONFIG);
    read(&server, 20..30);
    until("the alarm", || losses(&server).len() == 1);
    let pid = || server.status()["record"]["document"]["pid"].as_u64();
    let first = pid().unwrap();
    let killed = std::process::Command::new("kill").args(["-9", &first.to_string()]).status();
    assert!(killed.unwrap().success());
    until("another record process", || pid().is_some_and(|pid| pid != first));
    let [id] = losses(&server).try_into().unwrap();
    let listed = || crate::running::run(&["events", "losses"], server.folder.path());
    let (code, _, said) = listed();
    assert!(code == 1 && said.contains("it is no regular file"), "{said}");
    std::fs::remove_dir(&book).unwrap();
    until("the file to have it", || losses(&server) == [id.clone()] && listed().1.contains(&id));
    assert_eq!(listed().0, 0);
}

#[test]
fn what_was_read_and_not_committed_is_behind() {
    let folder = testkit::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    let first = |server: &Running| {
        let status = server.status();
        status["record"]["document"]["pipelines"][0].clone()
    };
    // From the start nobody can say what the sink has.
    std::fs::write(folder.path().join("data/sink.db"), "this is no database, and never was one")
        .unwrap();
    let server = Running::start_in(folder, CONFIG);
    read(&server, 0..10);
    until("the trouble", || first(&server)["last_error"].is_string());
    assert_eq!(first(&server)["bytes_behind"], Value::Null);
    std::fs::remove_file(server.folder.path().join("data/sink.db")).unwrap();
    until("the rows", || held(server.folder.path()) == (10, 10));
    until("nothing to be behind", || first(&server)["bytes_behind"] == 0);
    // Locked by another, it takes nothing for a while.
    let mut other = Connection::open(server.folder.path().join("data/sink.db")).unwrap();
    let locked = other.transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive).unwrap();
    read(&server, 10..20);
    until("the lines", || first(&server)["lines"] == 20);
    let behind = first(&server);
    assert!(behind["bytes_behind"].as_u64() > Some(0), "{behind}");
    assert_ne!(behind["state"], "caught up");
    drop(locked);
    until("the rows", || held(server.folder.path()) == (20, 20));
    until("nothing to be behind", || first(&server)["bytes_behind"] == 0);
}
