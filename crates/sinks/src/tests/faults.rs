//! Servers that die, hang, or whose answers are lost.

use super::*;

use pipeline::SinkError;
use testkit::{Fault, Proxy};

/// The same database behind a proxy.
fn behind(proxy: &Proxy, url: &str, port: u16) -> String {
    let (from, to) = (format!(":{port}/"), format!(":{}/", proxy.port()));
    format!("{}?sslmode=disable", url.replace(&from, &to))
}

/// The message that commits.
fn commit(url: &str) -> &'static [u8] {
    if url.starts_with("mysql") { b"\x03COMMIT" } else { b"COMMIT\0" }
}

fn is_unreachable(outcome: &Result<(), SinkError>) -> bool {
    matches!(outcome, Err(SinkError::Unreachable { .. }))
}

/// What the pipeline does after an outcome that it does not know: it reads the checkpoint.
fn deliver_unless_held(sink: &mut dyn Sink, batch: &Batch) {
    sink.prepare(&[counts()]).unwrap();
    let stored = sink.checkpoints("web").unwrap();
    if !stored.contains(&batch.checkpoint) {
        sink.deliver(batch).unwrap();
    }
}

fn an_answer_is_lost(bench: &Bench, port: u16, fault: Fault) {
    let proxy = Proxy::start(port);
    let url = behind(&proxy, &bench.url, port);
    let mut sink = open(&url, Path::new("/")).unwrap();
    sink.prepare(&[counts()]).unwrap();
    for sequence in 1..=3 {
        proxy.fault_at(commit(&url), fault);
        let batch = batch(sequence, one("/a", 1));
        let outcome = sink.deliver(&batch);
        assert!(is_unreachable(&outcome), "{outcome:?}");
        let is_committed = fault == Fault::LoseAnswer;
        let stored = bench.sink().checkpoints("web").unwrap();
        assert_eq!(stored.contains(&batch.checkpoint), is_committed);
        deliver_unless_held(&mut *sink, &batch);
        assert_eq!(bench.query("SELECT count FROM counts"), sequence.to_string());
    }
}

#[test]
fn doubles_nothing_when_the_answer_to_commit_is_lost() {
    an_answer_is_lost(&Bench::postgres(), Postgres::shared().port(), Fault::LoseAnswer);
    an_answer_is_lost(&Bench::mysql(), MariaDb::shared().port(), Fault::LoseAnswer);
}

#[test]
fn loses_nothing_when_commit_is_lost() {
    an_answer_is_lost(&Bench::postgres(), Postgres::shared().port(), Fault::LoseRequest);
    an_answer_is_lost(&Bench::mysql(), MariaDb::shared().port(), Fault::LoseRequest);
}

#[test]
fn gives_up_on_a_server_that_hangs() {
    for (bench, port) in
        [(Bench::postgres(), Postgres::shared().port()), (Bench::mysql(), MariaDb::shared().port())]
    {
        let proxy = Proxy::start(port);
        let url = format!("{}&statement_timeout=2s", behind(&proxy, &bench.url, port));
        let mut sink = open(&url, Path::new("/")).unwrap();
        sink.prepare(&[counts()]).unwrap();
        proxy.fault_at(commit(&url), Fault::Hang);
        let outcome = sink.deliver(&batch(1, one("/a", 1)));
        assert!(is_unreachable(&outcome), "{outcome:?}");
        assert!(format!("{}", outcome.unwrap_err()).ends_with("no answer within 2s"));
        // The server has rolled back, and the lock is gone.
        deliver_unless_held(&mut *sink, &batch(1, one("/a", 1)));
        assert_eq!(bench.query("SELECT count FROM counts"), "1");
    }
}

#[test]
fn gives_up_on_a_server_that_never_says_hello() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for scheme in ["postgres", "mysql"] {
        let url = format!("{scheme}://u:hunter2@127.0.0.1:{port}/db?connect_timeout=300ms");
        let error = open(&url, Path::new("/")).unwrap().prepare(&[]).unwrap_err();
        assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
        let expected = format!("{scheme} `127.0.0.1:{port}/db`: no answer within 300ms");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn waits_for_a_lock_no_longer_than_told() {
    let bench = Bench::postgres();
    let mut first = bench.prepared(&[&counts()]);
    first.deliver(&batch(1, one("/a", 1))).unwrap();
    let lock = "BEGIN; SELECT 1 FROM counts FOR UPDATE; SELECT pg_sleep(60)";
    std::thread::scope(|scope| {
        let blocker = scope
            .spawn(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.query(lock))));
        let holds = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
                     AND datname = current_database()";
        while bench.query(holds) != "1" {
            std::thread::yield_now();
        }
        let url = format!("{}?statement_timeout=500ms", bench.url);
        let outcome = open(&url, Path::new("/")).unwrap().deliver(&batch(2, one("/a", 1)));
        assert!(is_unreachable(&outcome), "{outcome:?}");
        bench.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                     WHERE wait_event = 'PgSleep' AND datname = current_database()",
        );
        drop(blocker.join());
    });
    first.deliver(&batch(2, one("/a", 1))).unwrap();
    assert_eq!(bench.query("SELECT count FROM counts"), "2");
}

/// Kills the server while rows are written and not committed, then starts it again.
fn the_server_is_killed(url: &str, port: u16, kill: impl Fn() + Sync, start: impl Fn()) {
    let proxy = Proxy::start(port);
    let url = behind(&proxy, url, port);
    let mut sink = open(&url, Path::new("/")).unwrap();
    sink.prepare(&[counts()]).unwrap();
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
    proxy.fault_at(commit(&url), Fault::Hang);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            proxy.wait_for_fault();
            kill();
        });
        sink.deliver(&batch(2, one("/a", 1)))
    });
    assert!(is_unreachable(&outcome), "{outcome:?}");
    assert!(matches!(sink.checkpoints("web"), Err(SinkError::Unreachable { .. })));
    start();
    assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(1)]);
    deliver_unless_held(&mut *sink, &batch(2, one("/a", 1)));
}

#[test]
fn goes_on_after_postgres_was_killed_within_a_transaction() {
    let server = Postgres::start();
    let url = server.database();
    the_server_is_killed(&url, server.port(), || server.kill(), || server.start_again());
    assert_eq!(server.query(&url, "SELECT count FROM counts"), "2");
}

#[test]
fn goes_on_after_mariadb_was_killed_within_a_transaction() {
    let server = MariaDb::start();
    let url = server.database();
    the_server_is_killed(&url, server.port(), || server.kill(), || server.start_again());
    assert_eq!(server.query(&url, "SELECT count FROM counts"), "2");
}
