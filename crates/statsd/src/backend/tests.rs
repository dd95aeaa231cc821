//! What becomes of parts that are refused, or do not arrive.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{BackendWorker, start_all};
use crate::config;
use crate::flush::Flush;
use crate::plain_file::tests::make_fifo;
use crate::plan::{BackendPlan, Graphite, Plan, Web};

/// A plan with these backends, that spools in a folder.
fn plan(folder: &TempDir, backends: Vec<BackendPlan>) -> Plan {
    let no_problem = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    let plan = config::plan(&config::Config::default(), folder.path(), no_problem);
    Plan { backends, ..plan }
}

/// A server for what is posted.
struct Taker {
    port: u16,
    bodies: Receiver<Vec<u8>>,
}

impl Taker {
    /// Answers with these statuses and texts, one after the other, then with 200.
    fn start(answers: &'static [(u16, &'static str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, bodies) = channel();
        std::thread::spawn(move || {
            for (at, stream) in listener.incoming().enumerate() {
                let mut stream = BufReader::new(stream.expect("a connection"));
                let mut length = 0;
                let mut line = String::new();
                while stream.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                    let lower = line.to_ascii_lowercase();
                    if let Some(said) = lower.strip_prefix("content-length:") {
                        length = said.trim().parse().expect("a length");
                    }
                    line.clear();
                }
                let mut body = vec![0; length];
                stream.read_exact(&mut body).expect("the whole body");
                let (status, text) = answers.get(at).copied().unwrap_or((200, ""));
                let length = text.len();
                let answer = format!(
                    "HTTP/1.1 {status} -\r\ncontent-length: {length}\r\n\
                     connection: close\r\n\r\n{text}"
                );
                stream.get_mut().write_all(answer.as_bytes()).expect("a client that waits");
                if sender.send(body).is_err() {
                    return;
                }
            }
        });
        Self { port, bodies }
    }

    fn web(&self) -> Web {
        Web { url: format!("http://127.0.0.1:{}", self.port), headers: Vec::new() }
    }

    fn next(&self) -> Vec<u8> {
        self.bodies.recv_timeout(Duration::from_secs(20)).expect("something is posted")
    }
}

fn flush(counters: usize) -> Arc<Flush> {
    let counters = (0..counters).map(|at| (format!("c{at}").into(), 1.0)).collect();
    Arc::new(Flush { counters, unix_s: 1_700_000_000, ..Flush::default() })
}

#[test]
fn a_part_that_is_refused_costs_no_other() {
    let (folder, taker) = (TempDir::new().expect("a folder"), Taker::start(&[(400, "")]));
    let workers = start_all(&plan(&folder, vec![BackendPlan::Influx(taker.web())]), None);
    workers[0].push_last(&flush(5_001));
    workers[0].end();
    let status = workers[0].status();
    assert_eq!((status.delivered, status.lost, status.spooled_bytes), (0, 1, 0), "{status:?}");
    let lines = || taker.next().split(|byte| *byte == b'\n').count() - 1;
    assert_eq!((lines(), lines()), (5_000, 1));
}

#[test]
fn a_part_that_has_arrived_is_not_sent_again() {
    let (folder, taker) =
        (TempDir::new().expect("a folder"), Taker::start(&[(200, ""), (503, "")]));
    let workers = start_all(&plan(&folder, vec![BackendPlan::Otlp(taker.web())]), None);
    workers[0].push(&flush(2_001));
    let counts = [(); 3].map(|()| {
        let document: Value = serde_json::from_slice(&taker.next()).expect("JSON");
        let metrics = &document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
        metrics.as_array().map_or(0, Vec::len)
    });
    workers[0].end();
    assert_eq!(counts, [2_000, 1, 1]);
    assert_eq!((workers[0].status().lost, workers[0].status().spooled_bytes), (0, 0));
}

#[test]
fn what_a_token_or_a_bucket_is_missing_for_waits() {
    for answers in [&[(401, "")], &[(404, "")], &[(429, "")], &[(500, "")]] {
        let (folder, taker) = (TempDir::new().expect("a folder"), Taker::start(answers));
        let plan = plan(&folder, vec![BackendPlan::Influx(taker.web())]);
        let workers = start_all(&plan, None);
        workers[0].push_last(&flush(1));
        taker.next();
        workers[0].end();
        let status = workers[0].status();
        assert!(status.lost == 0 && status.spooled_bytes > 0, "{status:?}");
    }
}

#[test]
fn what_a_collector_takes_in_part_is_lost_and_said() {
    let folder = TempDir::new().expect("a folder");
    const SAID: &str = r#"{"partialSuccess":{"rejectedDataPoints":"2","errorMessage":"too old"}}"#;
    let taker = Taker::start(&[(200, SAID)]);
    let workers = start_all(&plan(&folder, vec![BackendPlan::Otlp(taker.web())]), None);
    workers[0].push_last(&flush(3));
    workers[0].end();
    let status = workers[0].status();
    assert_eq!((status.lost, status.spooled_bytes), (1, 0));
    let error = status.last_error.expect("it is said");
    assert_eq!(error, "the collector refused 2 of what was sent: too old");
}

#[test]
fn no_flush_is_lost_while_a_backend_is_away_or_catches_up() {
    const FLUSHES: usize = 60;
    let folder = TempDir::new().expect("a folder");
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let to = Some(format!("127.0.0.1:{port}"));
    let backend = BackendPlan::Graphite(Graphite { to, ..Graphite::default() });
    let workers = start_all(&plan(&folder, vec![backend]), None);
    let push = |number: usize| {
        let counters = vec![(format!("flush{number}").into(), 1.0)];
        workers[0].push(&Arc::new(Flush { counters, unix_s: number as u64, ..Flush::default() }));
    };
    // Faster than anything could be delivered, and nobody listens.
    (0..FLUSHES).for_each(&push);
    let (sender, lines) = channel();
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port");
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        }
    });
    let mut missing: std::collections::HashSet<usize> = (0..2 * FLUSHES).collect();
    let mut more = FLUSHES..2 * FLUSHES;
    while !missing.is_empty() {
        let line = lines.recv_timeout(Duration::from_secs(60)).expect("every flush arrives");
        let number = line.split("flush").nth(1).and_then(|rest| rest.split(['.', ' ']).next());
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            missing.remove(&number);
        }
        // More come while what was spooled goes out.
        more.next().into_iter().for_each(&push);
    }
    assert_eq!(workers[0].status().lost, 0, "{:?}", workers[0].status());
    workers[0].end();
}

/// The number of each flush in what is spooled, in the order of the files.
fn spooled(folder: &TempDir, name: &str) -> Vec<u64> {
    let dir = folder.path().join("data/statsd-spool").join(name);
    let files = std::fs::read_dir(dir).expect("a folder").map(|file| file.expect("a file").path());
    let mut files: Vec<_> = files.filter(|file| file.extension().is_none()).collect();
    files.sort();
    let number = |file: &std::path::PathBuf| {
        let text = std::fs::read_to_string(file).expect("a part");
        let rest = text.split("flush").nth(1).expect("a name");
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).expect("a number")
    };
    files.iter().map(number).collect()
}

/// A plan for one Graphite on loopback, each step of which may take a second.
fn graphite_plan(folder: &TempDir, port: u16) -> Plan {
    let to = Some(format!("127.0.0.1:{port}"));
    let backend = BackendPlan::Graphite(Graphite { to, ..Graphite::default() });
    Plan { interval: Duration::from_secs(1), ..plan(folder, vec![backend]) }
}

fn numbered(number: u64) -> Arc<Flush> {
    let counters = vec![(format!("flush{number}").into(), 1.0)];
    Arc::new(Flush { counters, unix_s: number, ..Flush::default() })
}

#[test]
fn what_a_graphite_that_hangs_has_not_read_stays_on_disk_over_restarts_and_is_said() {
    let folder = TempDir::new().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("one").port();
    let is_hung = Arc::new(AtomicBool::new(true));
    let (sender, texts) = channel();
    let hangs = Arc::clone(&is_hung);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            if hangs.load(Ordering::SeqCst) {
                std::mem::forget(stream);
                continue;
            }
            let mut text = String::new();
            drop(stream.read_to_string(&mut text));
            drop(sender.send(text));
        }
    });
    let all = 0..6;
    for start in 0..3 {
        let workers = start_all(&graphite_plan(&folder, port), None);
        all.clone().skip(2 * start).take(2).for_each(|number| workers[0].push(&numbered(number)));
        while workers[0].status().last_error.is_none() {
            std::thread::yield_now();
        }
        workers[0].end();
        let status = workers[0].status();
        assert_eq!((status.delivered, status.lost), (0, 0), "{status:?}");
        let error = status.last_error.expect("it is said");
        assert!(error.contains("left the connection open"), "{error}");
        let waits = all.clone().take(2 * start + 2).collect::<Vec<_>>();
        assert_eq!(spooled(&folder, "graphite"), waits);
    }
    is_hung.store(false, Ordering::SeqCst);
    let workers = start_all(&graphite_plan(&folder, port), None);
    let text = texts.recv_timeout(Duration::from_secs(20)).expect("they are sent again");
    let places = all.map(|number| text.find(&format!("flush{number} ")));
    let places = places.map(|place| place.expect("each flush")).collect::<Vec<_>>();
    assert!(places.is_sorted(), "{places:?}");
    workers[0].end();
    assert_eq!(spooled(&folder, "graphite"), [0; 0]);
}

#[test]
fn what_is_no_part_in_the_spool_blocks_no_part_and_is_counted() {
    let folder = TempDir::new().expect("a folder");
    let taker = Taker::start(&[(503, "")]);
    let influx = || vec![BackendPlan::Influx(taker.web())];
    let dir = folder.path().join("data/statsd-spool/influx");
    let workers = start_all(&plan(&folder, influx()), None);
    workers[0].push(&numbered(0));
    while workers[0].status().spooled_bytes == 0 {
        std::thread::yield_now();
    }
    (1..6).for_each(|number| workers[0].push(&numbered(number)));
    workers[0].end();
    assert_eq!(spooled(&folder, "influx"), (0..6).collect::<Vec<_>>());
    taker.next();
    let at = |number: u64| dir.join(format!("{number:020}"));
    [at(1), at(2)].iter().for_each(|part| std::fs::remove_file(part).expect("a part"));
    make_fifo(&at(1));
    std::fs::create_dir(at(2)).expect("a directory");
    make_fifo(&at(99));
    make_fifo(&dir.join(format!("{:020}.new", 100)));
    make_fifo(&dir.join("18446744073709551615"));
    std::fs::write(dir.join("notes"), "of somebody").expect("a file");
    let workers = start_all(&plan(&folder, influx()), None);
    for number in [0, 3, 4, 5] {
        let body = String::from_utf8(taker.next()).expect("text");
        assert!(body.contains(&format!("flush{number},")), "{number}: {body}");
    }
    while workers[0].status().spooled_bytes > 0 {
        std::thread::yield_now();
    }
    let status = workers[0].status();
    assert_eq!((status.lost, status.foreign_files), (0, 6), "{status:?}");
    workers[0].end();
    let kept = [at(1), at(2), at(99)].map(|path| path.with_extension("refused").exists());
    assert_eq!((kept, dir.join("notes").exists()), ([true; 3], true));
}

#[test]
fn a_part_that_becomes_a_fifo_while_it_waits_is_lost_and_said() {
    let folder = TempDir::new().expect("a folder");
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one").port();
    let workers = start_all(&graphite_plan(&folder, port), None);
    workers[0].push(&numbered(0));
    while workers[0].status().spooled_bytes == 0 {
        std::thread::yield_now();
    }
    (1..3).for_each(|number| workers[0].push(&numbered(number)));
    let dir = folder.path().join("data/statsd-spool/graphite");
    let part = dir.join(format!("{:020}", 1));
    std::fs::remove_file(&part).expect("a part");
    make_fifo(&part);
    // In the way of the next part, before and after it is renamed.
    make_fifo(&dir.join(format!("{:020}.new", 3)));
    std::fs::create_dir(dir.join(format!("{:020}", 3))).expect("a directory");
    workers[0].push(&numbered(3));
    let (sender, texts) = channel();
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut text = String::new();
            drop(stream.read_to_string(&mut text));
            drop(sender.send(text));
        }
    });
    let mut text = String::new();
    while !text.contains("flush3 ") {
        text += &texts.recv_timeout(Duration::from_secs(60)).expect("the others are sent");
    }
    assert!(!text.contains("flush1 ") && text.contains("flush2 "), "{text}");
    workers[0].end();
    let status = workers[0].status();
    assert_eq!((status.lost, status.foreign_files), (1, 2), "{status:?}");
}

#[test]
fn a_graphite_that_is_too_slow_for_a_large_batch_gets_small_ones() {
    const LIKED_BYTES: usize = 600_000;
    let folder = TempDir::new().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("one").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut bytes = Vec::new();
            // More is not read by the time that it has: the connection stays open.
            if stream.read_to_end(&mut bytes).is_ok() && bytes.len() > LIKED_BYTES {
                std::mem::forget(stream);
            }
        }
    });
    let workers = start_all(&graphite_plan(&folder, port), None);
    workers[0].push(&flush(20_000));
    while workers[0].status().spooled_bytes == 0 {
        std::thread::yield_now();
    }
    while workers[0].status().spooled_bytes > 0 {
        std::thread::yield_now();
    }
    workers[0].end();
    assert_eq!(workers[0].status().lost, 0);
}

#[test]
fn while_flushes_wait_on_disk_new_ones_go_there_at_once_behind_them_for_every_kind() {
    let taker = Taker::start(&[]);
    let away = || TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("one");
    let web = || Web { url: format!("http://{}", away()), headers: Vec::new() };
    let to = Some(away().to_string());
    let kinds = [
        BackendPlan::Graphite(Graphite { to, ..Graphite::default() }),
        BackendPlan::Influx(web()),
        BackendPlan::Otlp(web()),
    ];
    for (backend, name) in kinds.into_iter().zip(["graphite", "influx", "otlp"]) {
        let folder = TempDir::new().expect("a folder");
        let workers = start_all(&plan(&folder, vec![backend]), None);
        let push = |number: u64| {
            let counters = vec![(format!("flush{number}").into(), 1.0)];
            workers[0].push(&Arc::new(Flush { counters, unix_s: number, ..Flush::default() }));
        };
        push(0);
        while workers[0].status().spooled_bytes == 0 || !workers[0].under_way().is_empty() {
            std::thread::yield_now();
        }
        // As a kill would find it at any of these moments.
        for number in 1..40 {
            push(number);
            assert_eq!(spooled(&folder, name), (0..=number).collect::<Vec<_>>());
        }
        assert_eq!(workers[0].under_way(), [0; 0]);
        let status = workers[0].status();
        assert_eq!(status.lost, 0, "{status:?}");
        let error = status.last_error.expect("it is away");
        assert!(!error.contains("no more may"), "the cause stays: {error}");
        // Not ended: what follows finds the folder as a kill leaves it.
        std::mem::forget(workers);
        if name == "influx" {
            let again = start_all(&plan(&folder, vec![BackendPlan::Influx(taker.web())]), None);
            for number in 0..40 {
                let body = String::from_utf8(taker.next()).expect("text");
                assert!(body.contains(&format!("flush{number},")), "{number}: {body}");
            }
            again[0].end();
            assert_eq!(spooled(&folder, name), [0; 0]);
        }
    }
}

#[test]
fn backends_of_one_kind_spool_apart() {
    let folder = TempDir::new().expect("a folder");
    let graphite = || {
        // Nobody listens there.
        BackendPlan::Graphite(Graphite { to: Some("127.0.0.1:1".into()), ..Graphite::default() })
    };
    let workers = start_all(&plan(&folder, vec![graphite(), graphite()]), None);
    let names: Vec<&str> = workers.iter().map(BackendWorker::name).collect();
    assert_eq!(names, ["graphite", "graphite-2"]);
    for worker in &workers {
        worker.push_last(&flush(1));
        worker.end();
        let parts = folder.path().join("data/statsd-spool").join(worker.name());
        assert_eq!(std::fs::read_dir(parts).expect("a folder").count(), 1);
    }
}
