//! Claims about workers as upstreams: when a worker is asked, and how its loan ends.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use socket2::{Domain, Type};
use testkit::{Client, Gate, Origin, OriginReply, TempDir};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::{Served, check_with, eventually, serve_with};
use crate::plan::PoolUpstream;
use crate::ports::{Acquire, Loan, NoWorker, Workers};

/// Workers that are origins behind Unix sockets.
#[derive(Debug)]
struct FakeWorkers {
    free: Mutex<VecDeque<(u64, PathBuf)>>,
    freed: Notify,
    /// Requests that wait for a worker.
    waiting: AtomicUsize,
    /// The outcome of each loan, by worker.
    outcomes: Mutex<Vec<(u64, &'static str)>>,
    /// The worker that is lent ahead, if one is quick.
    quick: Option<(u64, PathBuf)>,
    _dir: TempDir,
}

#[derive(Debug)]
struct FakeLoan {
    worker: u64,
    socket: PathBuf,
    fakes: Arc<FakeWorkers>,
    outcome: &'static str,
    is_ahead: bool,
}

/// The pool with shared ownership, which the methods of the trait need.
#[derive(Debug)]
struct Shared(Arc<FakeWorkers>);

impl FakeWorkers {
    /// Makes one worker in front of each origin.
    fn of(origins: &[&Origin]) -> Arc<Self> {
        Self::at(&origins.iter().map(|origin| origin.address()).collect::<Vec<_>>())
    }

    fn at(addresses: &[SocketAddr]) -> Arc<Self> {
        Arc::new(Self::all_free(addresses))
    }

    /// The first is quick and has other requests.
    fn with_a_quick_one(origins: &[&Origin]) -> Arc<Self> {
        let addresses: Vec<_> = origins.iter().map(|origin| origin.address()).collect();
        let mut fakes = Self::all_free(&addresses);
        fakes.quick = fakes.free.get_mut().unwrap().pop_front();
        Arc::new(fakes)
    }

    fn all_free(addresses: &[SocketAddr]) -> Self {
        let dir = TempDir::new().unwrap();
        let mut free = VecDeque::new();
        for (worker, address) in addresses.iter().copied().enumerate() {
            let socket = dir.path().join(format!("w{worker}.sock"));
            let listener = UnixListener::bind(&socket).unwrap();
            std::thread::spawn(move || listener.incoming().for_each(|from| join(from, address)));
            free.push_back((worker as u64, socket));
        }
        let (freed, waiting, outcomes) = (Notify::new(), AtomicUsize::new(0), Mutex::default());
        Self { free: Mutex::new(free), freed, waiting, outcomes, quick: None, _dir: dir }
    }

    fn outcomes(&self) -> Vec<(u64, &'static str)> {
        self.outcomes.lock().unwrap().clone()
    }
}

fn join(from: std::io::Result<UnixStream>, to: SocketAddr) {
    let (mut from, mut to) = (from.unwrap(), TcpStream::connect(to).unwrap());
    let (mut back, mut forth) = (to.try_clone().unwrap(), from.try_clone().unwrap());
    let copy = |from: &mut dyn Read, to: &mut dyn Write| {
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..read]).is_err() {
                break;
            }
        }
    };
    std::thread::spawn(move || {
        copy(&mut back, &mut forth);
        let _ = forth.shutdown(Shutdown::Both);
    });
    std::thread::spawn(move || {
        copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
}

impl Workers for Shared {
    fn is_ready(&self) -> bool {
        true
    }

    fn take_ahead(&self, end: Instant) -> Acquire {
        let Some((worker, socket)) = self.0.quick.clone() else { return self.take(end) };
        let fakes = Arc::clone(&self.0);
        let loan = FakeLoan { worker, socket, fakes, outcome: "", is_ahead: true };
        Box::pin(async move { Ok(Box::new(loan) as Box<dyn Loan>) })
    }

    fn take(&self, end: Instant) -> Acquire {
        let fakes = Arc::clone(&self.0);
        Box::pin(async move {
            let _queued = QueuedRequest::of(&fakes);
            loop {
                let freed = fakes.freed.notified();
                if let Some((worker, socket)) = fakes.free.lock().unwrap().pop_front() {
                    let (fakes, outcome) = (Arc::clone(&fakes), "");
                    let loan = FakeLoan { worker, socket, fakes, outcome, is_ahead: false };
                    return Ok(Box::new(loan) as Box<dyn Loan>);
                }
                timeout_at(end, freed).await.map_err(|_| NoWorker::Late)?;
            }
        })
    }
}

/// A request that counts as waiting until it is dropped.
struct QueuedRequest(Arc<FakeWorkers>);

impl QueuedRequest {
    fn of(fakes: &Arc<FakeWorkers>) -> Self {
        fakes.waiting.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(fakes))
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Loan for FakeLoan {
    fn worker(&self) -> u64 {
        self.worker
    }

    fn socket(&self) -> &Path {
        &self.socket
    }

    fn is_ahead(&self) -> bool {
        self.is_ahead
    }

    fn given_back(mut self: Box<Self>) {
        self.outcome = "given back";
    }

    fn done(mut self: Box<Self>) {
        self.outcome = "done";
        if self.is_ahead {
            return;
        }
        self.fakes.free.lock().unwrap().push_back((self.worker, self.socket.clone()));
        self.fakes.freed.notify_one();
    }

    fn timed_out(mut self: Box<Self>) {
        self.outcome = "timed out";
    }

    fn lost(mut self: Box<Self>) {
        self.outcome = "lost";
    }
}

impl Drop for FakeLoan {
    fn drop(&mut self) {
        self.fakes.outcomes.lock().unwrap().push((self.worker, self.outcome));
    }
}

fn named(name: &'static str) -> Origin {
    Origin::start(move |_| OriginReply::ok(name))
}

fn gated(gate: &Gate) -> Origin {
    let gate = gate.clone();
    Origin::start(move |_| OriginReply::ok("x").after(&gate))
}

/// Serves in front of workers that have this time to answer.
fn before(fakes: &Arc<FakeWorkers>, answer_timeout_ms: u64, route: &str) -> Served {
    before_pieces(fakes, (answer_timeout_ms, 5_000), route)
}

/// The same, with a time between two pieces of an answer.
fn before_pieces(
    fakes: &Arc<FakeWorkers>,
    (answer_timeout_ms, piece_timeout_ms): (u64, u64),
    route: &str,
) -> Served {
    let pool = PoolUpstream {
        place: 0,
        name: "app".to_owned(),
        answer_timeout: std::time::Duration::from_millis(answer_timeout_ms),
        piece_timeout: std::time::Duration::from_millis(piece_timeout_ms),
        tunnels_max: 2,
    };
    let text = format!("[[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:app\"\n{route}");
    let (plan, problems) = check_with(&text, vec![pool]);
    assert!(problems.is_empty(), "{problems:?}");
    let workers = Arc::new(Shared(Arc::clone(fakes))) as Arc<dyn Workers>;
    serve_with(plan, HashMap::from([("app".to_owned(), workers)]))
}

#[test]
fn requests_go_to_free_workers_on_connections_that_are_kept() {
    let (one, other) = (named("one"), named("other"));
    let fakes = FakeWorkers::of(&[&one, &other]);
    let served = before(&fakes, 5_000, "");
    let answers: Vec<String> = (0..6).map(|_| served.get("/").text().to_owned()).collect();
    assert_eq!(answers, ["one", "other", "one", "other", "one", "other"]);
    assert_eq!(Client::call(served.address, "HEAD", "/").send().status, 200);
    assert_eq!((one.connections(), other.connections()), (1, 1));
    assert_eq!(fakes.outcomes().len(), 7);
    assert!(
        fakes.outcomes().iter().all(|(_, outcome)| *outcome == "done"),
        "{:?}",
        fakes.outcomes()
    );
}

#[test]
fn a_worker_has_one_request_at_a_time_and_the_others_wait() {
    let gate = Gate::new();
    let origin = gated(&gate);
    let fakes = FakeWorkers::of(&[&origin]);
    let served = before(&fakes, 20_000, "");
    let asking: Vec<_> = (0..5).map(|n| served.ask(&format!("/{n}"), &[])).collect();
    gate.wait_for(1);
    assert!(fakes.free.lock().unwrap().is_empty());
    gate.open();
    assert!(asking.into_iter().all(|asked| asked.join().unwrap().status == 200));
    assert_eq!((origin.requests().len(), origin.connections()), (5, 1));
    let queued = served.journal.wait_for(5).iter().filter(|it| it.has_queued).count();
    assert!(queued >= 4, "each but the first waits for the worker: {queued}");
}

#[test]
fn a_request_that_a_worker_dropped_is_asked_once_more_unless_it_may_have_changed_something() {
    let dying = || Origin::start(|_| OriginReply::ok("").close_before_head());
    let good = named("good");
    let (first, second) = (dying(), dying());
    let fakes = FakeWorkers::of(&[&first, &good]);
    let served = before(&fakes, 5_000, "");
    assert_eq!(served.get("/").text(), "good");
    assert_eq!(fakes.outcomes(), [(0, "lost"), (1, "done")]);
    let fakes = FakeWorkers::of(&[&second, &good]);
    let served = before(&fakes, 5_000, "");
    assert_eq!(Client::post(served.address, "/", "x").send().status, 502);
    assert_eq!(fakes.outcomes(), [(0, "lost")]);
}

#[test]
fn a_worker_that_does_not_answer_in_time_is_told_of_and_the_client_gets_504() {
    let gate = Gate::new();
    let origin = gated(&gate);
    let fakes = FakeWorkers::of(&[&origin]);
    let served = before(&fakes, 100, "");
    assert_eq!(served.get("/").status, 504);
    assert_eq!(fakes.outcomes(), [(0, "timed out")]);
    assert_eq!(served.get("/").status, 504, "nobody is free, and nobody becomes free in time");
    gate.open();
}

#[test]
fn an_answer_that_is_not_read_to_its_end_leaves_the_worker_without_a_word() {
    let origin = Origin::start(|_| OriginReply::ok("x".repeat(50_000_000)));
    let fakes = FakeWorkers::of(&[&origin]);
    let served = before(&fakes, 5_000, "");
    let mut client = TcpStream::connect(served.address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    client.read_exact(&mut [0; 1000]).unwrap();
    drop(client);
    eventually("the loan's end", || fakes.outcomes() == [(0, "")]);
}

#[test]
fn a_worker_is_free_when_it_has_answered_however_slowly_the_client_reads() {
    const BYTES: usize = 1 << 20;
    let gate = Gate::new();
    let (opens, body) = (gate.clone(), "x".repeat(BYTES));
    let origin = Origin::start(move |_| OriginReply::ok(body.clone()).after(&opens));
    let fakes = FakeWorkers::of(&[&origin]);
    let served = before(&fakes, 20_000, "");
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..3 {
        let client = socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        // With short segments and a small window the system cannot take the whole response.
        client.set_tcp_mss(536).unwrap();
        client.set_recv_buffer_size(4096).unwrap();
        client.connect(&served.address.into()).unwrap();
        let mut client = TcpStream::from(client);
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
        slow.push(client);
    }
    gate.open();
    eventually("three loans' ends", || fakes.outcomes() == [(0, "done"); 3]);
    for mut client in slow {
        let mut answer = Vec::new();
        client.read_to_end(&mut answer).unwrap();
        assert!(answer.len() > BYTES && answer.ends_with(b"xxx"));
    }
}

#[test]
fn a_worker_that_falls_silent_in_its_answer_has_timed_out_and_the_break_is_counted() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let fakes = FakeWorkers::at(&[listener.local_addr().unwrap()]);
    let served = before_pieces(&fakes, (20_000, 50), "");
    let worker = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        let begun = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nx\r\n";
        stream.write_all(begun).unwrap();
        stream
    });
    let mut client = TcpStream::connect(served.address).unwrap();
    client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    client.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(b"1\r\nx\r\n"));
    assert_eq!(fakes.outcomes(), [(0, "timed out")]);
    eventually("the count", || {
        served.registry.prometheus().contains("tidegate_broken_answers_total 1\n")
    });
    drop(worker.join().unwrap());
}

#[test]
fn an_answer_that_a_worker_breaks_off_is_asked_of_another_unless_it_may_have_changed_something() {
    let breaks = || Origin::start(|_| OriginReply::ok("x".repeat(50_000)).claim_length(100_000));
    let good = named("good");
    let (first, second) = (breaks(), breaks());
    let fakes = FakeWorkers::of(&[&first, &good]);
    let served = before(&fakes, 5_000, "");
    assert_eq!(served.get("/").text(), "good");
    assert_eq!(fakes.outcomes(), [(0, "lost"), (1, "done")]);
    let fakes = FakeWorkers::of(&[&second, &good]);
    let served = before(&fakes, 5_000, "");
    assert_eq!(Client::post(served.address, "/", "x").send().status, 502);
    assert_eq!(fakes.outcomes(), [(0, "lost")]);
}

#[test]
fn a_client_that_leaves_the_queue_takes_no_worker() {
    let gate = Gate::new();
    let origin = gated(&gate);
    let fakes = FakeWorkers::of(&[&origin]);
    let served = before(&fakes, 20_000, "");
    let first = served.ask("/first", &[]);
    gate.wait_for(1);
    let stays = served.ask("/stays", &[]);
    let waiting = |count| fakes.waiting.load(Ordering::SeqCst) == count;
    eventually("one that waits", || waiting(1));
    for method in ["GET", "POST"] {
        let mut leaves = TcpStream::connect(served.address).unwrap();
        let request = format!("{method} /leaves HTTP/1.1\r\nhost: a\r\n\r\n");
        leaves.write_all(request.as_bytes()).unwrap();
        eventually("another", || waiting(2));
        drop(leaves);
        eventually("it is gone", || waiting(1));
    }
    let left = served.journal.wait_for(2);
    assert!(left.iter().all(|record| (&*record.path, record.status) == ("/leaves", 0)));
    gate.open();
    assert_eq!((first.join().unwrap().status, stays.join().unwrap().status), (200, 200));
    let asked: Vec<String> = origin.requests().iter().map(|it| it.target.clone()).collect();
    assert_eq!(asked, ["/first", "/stays"]);
    assert_eq!(fakes.outcomes(), [(0, "done"); 2]);
}

#[test]
fn a_worker_that_computes_for_a_client_that_left_is_given_up_without_a_word() {
    for route in ["", "cache = {}\ncoalesce = \"off\""] {
        let gate = Gate::new();
        let origin = gated(&gate);
        let fakes = FakeWorkers::of(&[&origin]);
        let served = before(&fakes, 20_000, route);
        let mut client = TcpStream::connect(served.address).unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        gate.wait_for(1);
        drop(client);
        eventually("the loan's end", || fakes.outcomes() == [(0, "")]);
        gate.open();
    }
}

#[test]
fn a_tunnel_has_its_worker_for_as_long_as_it_lasts() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let fakes = FakeWorkers::at(&[listener.local_addr().unwrap()]);
    let echo = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        let answer = b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n\
                       upgrade: websocket\r\n\r\n";
        stream.write_all(answer).unwrap();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        said
    });
    let served = before(&fakes, 5_000, "upgrade = [\"websocket\"]");
    let mut client = TcpStream::connect(served.address).unwrap();
    client
        .write_all(
            b"GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        )
        .unwrap();
    let mut head = [0; 12];
    client.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    client.write_all(b"hello").unwrap();
    assert_eq!(fakes.outcomes(), []);
    drop(client);
    assert_eq!(echo.join().unwrap(), b"hello");
    eventually("the loan's end", || fakes.outcomes() == [(0, "")]);
}

#[test]
fn a_request_that_a_busy_worker_does_not_read_is_taken_back_and_goes_to_a_free_one() {
    let free = named("free");
    let mut fakes = FakeWorkers::all_free(&[free.address()]);
    let socket = fakes._dir.path().join("busy.sock");
    // It listens, and reads nothing.
    let _busy = UnixListener::bind(&socket).unwrap();
    fakes.quick = Some((7, socket));
    let fakes = Arc::new(fakes);
    let served = before(&fakes, 20_000, "");
    assert_eq!(served.get("/").text(), "free");
    assert_eq!(fakes.outcomes(), [(7, ""), (0, "done")]);
}

#[test]
fn a_request_that_a_worker_gives_back_goes_to_a_free_one() {
    let answer = "HTTP/1.1 421 \r\ntidegate-turn: none\r\ncontent-length: 0\r\n\r\n";
    let quick = Origin::start(move |_| OriginReply::ok("").raw(answer));
    let free = named("free");
    // On a busy machine it is taken back before it is given back.
    eventually("a request that is given back", || {
        let fakes = FakeWorkers::with_a_quick_one(&[&quick, &free]);
        assert_eq!(before(&fakes, 20_000, "").get("/").text(), "free");
        fakes.outcomes() == [(0, "given back"), (1, "done")]
    });
}

#[test]
fn a_request_that_a_free_worker_gives_back_never_reaches_the_client() {
    let answer = "HTTP/1.1 421 \r\ntidegate-turn: none\r\ncontent-length: 0\r\n\r\n";
    let busy = Origin::start(move |_| OriginReply::ok("").raw(answer));
    let free = named("free");
    let fakes = FakeWorkers::at(&[busy.address(), free.address()]);
    let served = before(&fakes, 20_000, "");
    assert_eq!(Client::post(served.address, "/", "x").send().text(), "free");
    assert_eq!(fakes.outcomes(), [(0, "given back"), (1, "done")]);
    // Where no other is free, it is asked again until the time is over.
    let fakes = FakeWorkers::of(&[&busy]);
    assert_eq!(before(&fakes, 300, "").get("/").status, 504);
}

#[test]
fn a_request_ahead_that_was_read_is_made_once_however_long_it_takes() {
    let (gate, stalled) = (Gate::new(), Origin::start(|_| OriginReply::ok("").stall()));
    let (quick, free) = (gated(&gate), named("free"));
    let fakes = FakeWorkers::with_a_quick_one(&[&quick, &free]);
    let served = before(&fakes, 20_000, "");
    let asked = served.ask("/", &[]);
    gate.wait_for(1);
    // When this one has been given up, 300 ms have passed.
    assert_eq!(before(&FakeWorkers::of(&[&stalled]), 300, "").get("/").status, 504);
    gate.open();
    assert_eq!(asked.join().unwrap().text(), "x");
    assert_eq!(fakes.outcomes(), [(0, "done")]);
}

#[test]
fn only_safe_requests_without_a_body_go_ahead() {
    let (quick, free) = (named("quick"), named("free"));
    let fakes = FakeWorkers::with_a_quick_one(&[&quick, &free]);
    let served = before(&fakes, 5_000, "");
    // One that the worker does not read at once, on a busy machine, is taken back.
    eventually("a request ahead", || served.get("/").text() == "quick");
    assert_eq!(Client::post(served.address, "/", "x").send().text(), "free");
    assert_eq!(Client::call(served.address, "DELETE", "/").send().text(), "free");
}

#[test]
fn a_request_ahead_whose_worker_dies_is_asked_once_more_of_a_free_one() {
    let dying = Origin::start(|_| OriginReply::ok("").close_before_head());
    let free = named("free");
    eventually("a request that is lost", || {
        let fakes = FakeWorkers::with_a_quick_one(&[&dying, &free]);
        assert_eq!(before(&fakes, 5_000, "").get("/").text(), "free");
        fakes.outcomes() == [(0, "lost"), (1, "done")]
    });
}

#[test]
fn an_answer_that_has_begun_may_pause_for_longer_than_one_may_take_to_begin() {
    let (late, pausing) = (
        Origin::start(|_| OriginReply::ok("").stall()),
        Origin::start(|_| OriginReply::ok("abcdef").chunked(2).stall_mid_body(3)),
    );
    let fakes = FakeWorkers::of(&[&pausing, &late]);
    let served = before(&fakes, 300, "");
    let paused = served.ask("/", &[]);
    pausing.wait_for("/", 1);
    // When this one has been given up, the other has paused for as long.
    assert_eq!(served.get("/").status, 504);
    assert_eq!(served.get("/").status, 504);
    drop(pausing);
    assert!(paused.join().is_err(), "it ends with its worker, not before");
    let outcomes = fakes.outcomes();
    assert_eq!(outcomes.last(), Some(&(0, "lost")), "{outcomes:?}");
}
