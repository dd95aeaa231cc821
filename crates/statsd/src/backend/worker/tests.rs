//! What is sent again, what is lost, and what waits where, step by step and without the thread.

use std::io;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use stdx::Backoff;
use tempfile::TempDir;

use super::{BATCH_BYTES, BackendWorker, DeliveryLoop, NextStep, QUEUE_MAX, RETRY, SharedBackend};
use crate::backend::delivery::{PartSink, Render, Transport};
use crate::backend::spool::Spool;
use crate::flush::Flush;
use crate::status::BackendStatus;
use crate::tests::logged;

/// Makes a part of each counter's name.
struct Names;

impl Render for Names {
    fn parts(&self, flush: &Flush, _: &BackendStatus, each: PartSink<'_>) -> io::Result<()> {
        flush.counters.iter().try_for_each(|(name, _)| each(name.as_bytes()))
    }
}

/// Says of each part what becomes of it, and writes down what arrived.
#[derive(Clone, Default)]
struct Script {
    confirms: bool,
    /// Connections that are to fail at their end, first of all.
    failing_ends: Arc<Mutex<usize>>,
    sent: Arc<Mutex<Vec<String>>>,
    /// Bytes of each connection.
    connections: Arc<Mutex<Vec<usize>>>,
    open: usize,
}

impl Transport for Script {
    fn send(&mut self, part: &[u8]) -> io::Result<()> {
        let text = String::from_utf8_lossy(part).into_owned();
        self.open += part.len();
        let kind = match text.split('.').next() {
            Some("refused") => io::ErrorKind::InvalidData,
            Some("away") => io::ErrorKind::ConnectionRefused,
            _ => {
                self.sent.lock().push(text);
                return Ok(());
            }
        };
        Err(io::Error::new(kind, text))
    }

    fn end(&mut self) -> io::Result<()> {
        self.connections.lock().push(std::mem::take(&mut self.open));
        let mut failing = self.failing_ends.lock();
        if *failing > 0 {
            *failing -= 1;
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    fn confirms(&self) -> bool {
        self.confirms
    }
}

/// A backend whose thread is not running, with a spool where there is a folder.
fn backend(folder: Option<&TempDir>, script: &Script) -> DeliveryLoop {
    let spool = folder.map(|folder| Spool::open(folder.path(), 64 << 20).expect("a folder"));
    let shared = SharedBackend {
        name: "test".to_owned(),
        render: Box::new(Names),
        queue: Mutex::default(),
        changed: Condvar::new(),
        spool: spool.map(Mutex::new),
        status: Mutex::new(BackendStatus::started()),
    };
    DeliveryLoop {
        shared: Arc::new(shared),
        transport: Box::new(script.clone()),
        backoff: Backoff::new(RETRY.0, RETRY.1, 7),
        batch_bytes: BATCH_BYTES.1,
    }
}

fn flush(unix_s: u64, names: &[&str]) -> Arc<Flush> {
    let counters = names.iter().map(|name| ((*name).into(), 1.0)).collect();
    Arc::new(Flush { unix_s, counters, ..Flush::default() })
}

fn texts(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn worker(backend: &DeliveryLoop) -> BackendWorker {
    BackendWorker { shared: Arc::clone(&backend.shared), thread: Mutex::default() }
}

fn spooled(backend: &DeliveryLoop) -> Vec<String> {
    let spool = backend.shared.spool.as_ref().expect("it has one").lock();
    let (mut last, mut parts) = (None, Vec::new());
    while let Some((number, file)) = spool.next(last) {
        let part = Spool::read(&file).expect("it is there").expect("it is a file");
        parts.push(String::from_utf8(part).expect("text"));
        last = Some(number);
    }
    parts
}

#[test]
fn a_delivery_is_counted_with_its_bytes_and_ends_an_error() {
    let script = Script::default();
    let mut backend = backend(None, &script);
    backend.deliver(&flush(1, &["away.a"]));
    let status = worker(&backend).status();
    assert_eq!((status.delivered, status.lost), (0, 1));
    assert!(status.last_exception.is_some() && status.flush_length == 0);
    assert_eq!(status.last_error.as_deref(), Some("away.a"));
    backend.deliver(&flush(2, &["one", "three"]));
    backend.deliver(&flush(3, &["four", "five!"]));
    let status = worker(&backend).status();
    assert_eq!((status.delivered, status.lost, status.flush_length), (2, 1, 9));
    assert_eq!(status.last_error, None);
    assert_eq!(*script.sent.lock(), ["one", "three", "four", "five!"]);
}

#[test]
fn of_what_a_backend_did_not_take_exactly_that_waits_which_has_not_arrived() {
    for (confirms, waits) in [(true, &["away.b", "c"][..]), (false, &["a", "away.b", "c"])] {
        let folder = TempDir::new().expect("a folder");
        let script = Script { confirms, ..Script::default() };
        let mut backend = backend(Some(&folder), &script);
        backend.deliver(&flush(1, &["a", "away.b", "c"]));
        assert_eq!(spooled(&backend), waits, "confirms: {confirms}");
        let status = worker(&backend).status();
        let bytes = waits.iter().map(|part| part.len() as u64).sum();
        assert_eq!((status.delivered, status.lost, status.spooled_bytes), (0, 0, bytes));
        assert_eq!(status.last_error.as_deref(), Some("away.b"));
    }
}

#[test]
fn a_part_that_is_refused_for_good_costs_its_flush_and_no_other_part() {
    let folder = TempDir::new().expect("a folder");
    let script = Script { confirms: true, ..Script::default() };
    let mut backend = backend(Some(&folder), &script);
    backend.deliver(&flush(1, &["a", "refused.b", "c"]));
    let status = worker(&backend).status();
    assert_eq!((status.delivered, status.lost, status.spooled_bytes), (0, 1, 0));
    assert_eq!((status.last_error.as_deref(), script.sent.lock().len()), (Some("refused.b"), 2));
    // Another one is away: what arrived or was refused is not sent again.
    backend.deliver(&flush(2, &["d", "refused.e", "away.f"]));
    assert_eq!(spooled(&backend), ["away.f"]);
    assert_eq!(worker(&backend).status().lost, 2);
}

#[test]
fn what_is_spooled_is_sent_oldest_first_until_it_fails() {
    for (confirms, left) in [(true, &["away.c", "d"][..]), (false, &["a", "b", "away.c", "d"])] {
        let folder = TempDir::new().expect("a folder");
        let script = Script { confirms, ..Script::default() };
        let mut backend = backend(Some(&folder), &script);
        backend.shared.keep(&flush(1, &["a", "b"]), (&BackendStatus::started(), 0), None);
        backend.shared.keep(&flush(2, &["away.c", "d"]), (&BackendStatus::started(), 0), None);
        assert_eq!(worker(&backend).status().last_error, None, "they only wait");
        backend.send_spooled();
        assert_eq!((spooled(&backend), script.sent.lock().len()), (texts(left), 2));
        let status = worker(&backend).status();
        let bytes = left.iter().map(|part| part.len() as u64).sum();
        assert_eq!((status.spooled_bytes, status.lost), (bytes, 0));
        assert_eq!(status.last_error.as_deref(), Some("away.c"));
    }
}

#[test]
fn of_what_is_spooled_only_refused_parts_are_lost_and_missing_ones_are_passed_over() {
    let folder = TempDir::new().expect("a folder");
    let script = Script::default();
    let mut backend = backend(Some(&folder), &script);
    let names = ["a", "refused.b", "c", "d"];
    backend.shared.keep(&flush(1, &names), (&BackendStatus::started(), 0), None);
    std::fs::remove_file(folder.path().join(format!("{:020}", 2))).expect("it is there");
    backend.shared.status.lock().last_error = Some("before".to_owned());
    backend.send_spooled();
    assert_eq!(*script.sent.lock(), ["a", "d"]);
    let status = worker(&backend).status();
    assert_eq!((status.lost, status.spooled_bytes), (1, 0));
    assert_eq!(status.last_error, None, "all that could be is delivered");
}

#[test]
fn a_part_that_cannot_be_read_is_not_lost_and_its_place_is_said() {
    let folder = TempDir::new().expect("a folder");
    let mut backend = backend(Some(&folder), &Script::default());
    backend.shared.keep(&flush(1, &["a"]), (&BackendStatus::started(), 0), None);
    let part = folder.path().join(format!("{:020}", 0));
    std::fs::remove_file(&part).expect("it is there");
    // A link that leads to itself is an error of the system.
    std::os::unix::fs::symlink(&part, &part).expect("a link");
    backend.send_spooled();
    let status = worker(&backend).status();
    assert_eq!((status.lost, status.spooled_bytes), (0, 1));
    let error = status.last_error.expect("it is said");
    assert!(error.starts_with(&format!("reading `{}`: ", part.display())), "{error}");
}

#[test]
fn batches_shrink_while_they_do_not_arrive_and_grow_again() {
    const PART: usize = 64 << 10;
    let folder = TempDir::new().expect("a folder");
    let script = Script { failing_ends: Arc::new(Mutex::new(5)), ..Script::default() };
    let mut backend = backend(Some(&folder), &script);
    let part = vec![b'x'; PART];
    for _ in 0..250 {
        backend.shared.spool.as_ref().expect("it has one").lock().push(&part).expect("room");
    }
    for _ in 0..5 {
        backend.send_spooled();
        assert_eq!(script.connections.lock().last().map(|bytes| bytes % PART), Some(0));
    }
    backend.send_spooled();
    let kib: Vec<usize> = script.connections.lock().iter().map(|bytes| bytes >> 10).collect();
    let failed = [8192, 1024, 128, 64, 64];
    let arrived = [64, 512, 4096, 8192, 16_000 - 64 - 512 - 4096 - 8192];
    assert_eq!(kib, [failed, arrived].concat());
    assert_eq!(worker(&backend).status().spooled_bytes, 0);
}

#[test]
fn at_the_end_what_is_spooled_stays_after_the_batch_that_is_sent() {
    let folder = TempDir::new().expect("a folder");
    let script = Script::default();
    let mut backend = backend(Some(&folder), &script);
    backend.batch_bytes = 1;
    backend.shared.keep(&flush(1, &["a", "b", "c"]), (&BackendStatus::started(), 0), None);
    backend.shared.queue.lock().is_ending = true;
    backend.shared.status.lock().last_error = Some("before".to_owned());
    backend.send_spooled();
    assert_eq!(spooled(&backend), ["b", "c"]);
    let status = worker(&backend).status();
    assert_eq!((status.spooled_bytes, status.last_error.as_deref()), (2, Some("before")));
}

#[test]
fn only_so_many_flushes_wait_in_memory_and_their_order_is_kept_on_disk() {
    let folder = TempDir::new().expect("a folder");
    let with_spool = backend(Some(&folder), &Script::default());
    let shared = &with_spool.shared;
    for (unix_s, name) in [(10, "a"), (20, "b")] {
        shared.take(&flush(unix_s, &[name]), QUEUE_MAX);
    }
    assert_eq!(spooled(&with_spool), [""; 0]);
    assert_eq!(worker(&with_spool).under_way(), [10, 20]);
    shared.take(&flush(30, &["c"]), QUEUE_MAX);
    assert_eq!(
        (spooled(&with_spool), worker(&with_spool).under_way()),
        (vec!["a".into(), "b".into(), "c".into()], vec![])
    );
    let said = worker(&with_spool).status().last_error;
    assert_eq!(said.as_deref(), Some("flushes wait for it, and no more may"));
    // While anything is spooled a new one goes behind it, and the first reason stays.
    shared.status.lock().last_error = Some("away".to_owned());
    shared.take(&flush(40, &["d"]), QUEUE_MAX);
    assert_eq!(spooled(&with_spool).len(), 4);
    let status = worker(&with_spool).status();
    assert_eq!((status.last_error.as_deref(), status.lost), (Some("away"), 0));
    let without = backend(None, &Script::default());
    for unix_s in [10, 20, 30] {
        without.shared.take(&flush(unix_s, &["a"]), QUEUE_MAX);
    }
    assert_eq!((worker(&without).under_way(), worker(&without).status().lost), (vec![10, 20], 1));
    without.shared.take(&flush(40, &["a"]), usize::MAX);
    assert_eq!((worker(&without).under_way().len(), worker(&without).status().lost), (3, 1));
}

#[test]
fn flushes_go_before_the_end_and_the_end_before_what_is_spooled() {
    let folder = TempDir::new().expect("a folder");
    let backend = backend(Some(&folder), &Script::default());
    let (shared, now) = (&backend.shared, std::time::Instant::now());
    let mut retry = None;
    let next = |retry: &mut Option<std::time::Instant>| match shared.next(retry, || now) {
        NextStep::Deliver(flush) => format!("deliver {}", flush.unix_s),
        NextStep::SendSpooled => "spooled".to_owned(),
        NextStep::End => "end".to_owned(),
    };
    shared.take(&flush(10, &["a"]), QUEUE_MAX);
    assert_eq!(next(&mut retry), "deliver 10");
    assert_eq!(worker(&backend).under_way(), [10], "it is in hand");
    shared.keep(&flush(20, &["b"]), (&BackendStatus::started(), 0), None);
    assert_eq!(next(&mut retry), "spooled");
    assert_eq!(retry, Some(now), "it is due when `later` says");
    shared.queue.lock().flushes.push_back(flush(30, &["c"]));
    shared.queue.lock().is_ending = true;
    assert_eq!([next(&mut retry), next(&mut retry)], ["deliver 30", "end"]);
}

#[test]
fn what_finds_no_thread_is_spooled_or_lost() {
    let folder = TempDir::new().expect("a folder");
    let (with_spool, without) =
        (backend(Some(&folder), &Script::default()), backend(None, &Script::default()));
    for (backend, lost) in [(&with_spool, 0), (&without, 2)] {
        let worker = worker(backend);
        worker.push(&flush(1, &["a"]));
        worker.push_last(&flush(2, &["b"]));
        assert_eq!((worker.under_way(), worker.status().lost), (vec![], lost));
        worker.end();
    }
    assert_eq!(spooled(&with_spool), ["a", "b"]);
}

#[test]
fn a_start_says_what_waits_and_what_is_none_of_its_parts() {
    let folder = TempDir::new().expect("a folder");
    std::fs::create_dir_all(folder.path().join("test")).expect("a folder");
    std::fs::write(folder.path().join("test/notes"), "of somebody").expect("a file");
    std::fs::write(folder.path().join("test").join(format!("{:020}", 5)), "part").expect("one");
    let spool = (folder.path().to_owned(), 1000);
    let delivery = super::Delivery::new(Names, Script::default());
    let worker = BackendWorker::start("test".to_owned(), delivery, Some(&spool));
    assert_eq!((worker.name(), worker.status().foreign_files), ("test", 1));
    // It is due at once.
    while worker.status().spooled_bytes > 0 {
        std::thread::yield_now();
    }
    worker.end();
    assert_eq!(worker.status().lost, 0);
    assert!(format!("{worker:?}").contains("\"test\""));
}

#[test]
fn an_error_is_logged_when_it_changes_and_that_it_passed_once() {
    let mut backend = backend(None, &Script::default());
    let mut said = |names: &[&str]| logged(|| backend.deliver(&flush(1, names))).len();
    let steps: [&[&str]; 6] = [&["a"], &["away.a"], &["away.a"], &["away.b"], &["a"], &["a"]];
    assert_eq!(steps.map(&mut said), [0, 1, 0, 1, 1, 0]);
}
