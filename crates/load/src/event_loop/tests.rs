//! The engine against small servers that misbehave on purpose.

mod unasked;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{run, run_threads};
use crate::{
    Arrivals, Ask, Channel, ChannelSource, IdleConnections, LoadError, Mix, Plan, Pulse, Report,
    Request, RequestOutcome, RequestTimes, Requests, Stop, Target, Template,
};

/// What a server does with its n-th request, counted over all connections from 0.
enum Deed {
    Answer(&'static str),
    /// Busy with something else for so long first.
    AnswerAfter(Duration, &'static str),
    /// One half at once, the other once so many requests have come.
    AnswerHalfOnceSeen(u64, &'static str),
    /// Only once so many connections have been accepted.
    AnswerOnceAccepted(u64, &'static str),
    Close,
    Hang,
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const OK_CLOSE: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const UNTIL_CLOSE: &str = "HTTP/1.1 200 OK\r\n\r\nok";

fn serve_stream<S: Read + Write>(stream: S, server: &Counts, deed: fn(u64) -> Deed) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
        }
        let answer = match deed(server.seen.fetch_add(1, Ordering::SeqCst)) {
            Deed::Answer(answer) => answer,
            Deed::AnswerAfter(pause, answer) => {
                let begun = Instant::now();
                while begun.elapsed() < pause {
                    thread::yield_now();
                }
                answer
            }
            Deed::AnswerHalfOnceSeen(count, answer) => {
                let (half, rest) = answer.split_at(answer.len() / 2);
                if reader.get_mut().write_all(half.as_bytes()).is_err() {
                    return;
                }
                while server.seen.load(Ordering::SeqCst) < count {
                    thread::yield_now();
                }
                rest
            }
            Deed::AnswerOnceAccepted(count, answer) => {
                while server.accepted.load(Ordering::SeqCst) < count {
                    thread::yield_now();
                }
                answer
            }
            Deed::Close => return,
            Deed::Hang => {
                let _ = reader.read_to_end(&mut Vec::new());
                return;
            }
        };
        let written = reader.get_mut().write_all(answer.as_bytes());
        if written.is_err() || answer == UNTIL_CLOSE || answer == OK_CLOSE {
            return;
        }
    }
}

#[derive(Default)]
struct Counts {
    seen: AtomicU64,
    accepted: AtomicU64,
    stop: AtomicBool,
}

struct Server {
    address: SocketAddr,
    counts: Arc<Counts>,
}

fn server(deed: fn(u64) -> Deed) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let counts = Arc::new(Counts::default());
    let server = Server { address, counts: counts.clone() };
    thread::spawn(move || {
        for stream in listener.incoming() {
            if counts.stop.load(Ordering::SeqCst) {
                return;
            }
            counts.accepted.fetch_add(1, Ordering::SeqCst);
            let (stream, counts) = (stream.unwrap(), counts.clone());
            thread::spawn(move || serve_stream(stream, &counts, deed));
        }
    });
    server
}

impl Drop for Server {
    fn drop(&mut self) {
        self.counts.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

impl Server {
    fn target(&self) -> Target {
        Target::Tcp(self.address)
    }

    fn seen(&self) -> u64 {
        self.counts.seen.load(Ordering::SeqCst)
    }

    fn accepted(&self) -> u64 {
        self.counts.accepted.load(Ordering::SeqCst)
    }
}

fn get() -> Template {
    Request::get("/").expect_status(200).expect_bytes(2).template()
}

fn closed(server: &Server, connections: usize, count: u64) -> Plan {
    Plan::closed(server.target(), connections, Stop::Count(count))
}

fn check_clean(report: &Report, requests: u64) {
    assert!(report.is_clean(), "{:?}", report.errors);
    assert_eq!(report.requests, requests);
    assert_eq!(report.status(200), requests);
    assert_eq!(report.latency.len(), requests);
    assert!(report.seconds > 0.0);
}

#[test]
fn makes_exactly_the_requests_of_a_closed_loop() {
    let server = server(|_| Deed::Answer(OK));
    let report = run(&closed(&server, 4, 1000), &mut get()).unwrap();
    check_clean(&report, 1000);
    assert_eq!(server.seen(), 1000);
    assert_eq!(server.accepted(), 4);
    assert_eq!(report.connections, 4);
    assert_eq!(report.bytes_read, 1000 * OK.len() as u64);
}

#[test]
fn reaches_a_unix_socket() {
    let path = std::env::temp_dir().join(format!("load-test-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let serving = thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        serve_stream(stream, &Counts::default(), |_| Deed::Answer(OK));
    });
    let target: Target = format!("unix:{}", path.display()).parse().unwrap();
    let report = run(&Plan::closed(target, 1, Stop::Count(100)), &mut get());
    std::fs::remove_file(&path).unwrap();
    check_clean(&report.unwrap(), 100);
    serving.join().unwrap();
}

#[test]
fn keeps_several_requests_in_flight_when_told() {
    let server = server(|_| Deed::Answer(OK));
    let plan = Plan { arrivals: Arrivals::Closed { depth: 8 }, ..closed(&server, 2, 1003) };
    check_clean(&run(&plan, &mut get()).unwrap(), 1003);
}

/// Notes when requests were meant to be sent, were sent, and ended.
struct Noted(Template, Vec<RequestTimes>);

impl Requests for Noted {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        self.0.next(out)
    }

    fn done(&mut self, _: u64, outcome: RequestOutcome<'_>) {
        let RequestOutcome::Reply(reply) = outcome else { panic!("{outcome:?}") };
        self.1.push(reply.times);
    }
}

#[test]
fn an_open_loop_puts_several_requests_on_a_connection_when_told() {
    let server = server(|n| match n % 6 {
        0 => Deed::AnswerAfter(Duration::from_millis(200), OK),
        _ => Deed::Answer(OK),
    });
    let made = |depth_max| {
        let arrivals = Arrivals::At((0..6).collect());
        let open = Plan::open(server.target(), arrivals, 1, Stop::After(Duration::from_secs(3600)));
        let plan = Plan { connections_max: 1, depth_max, ..open };
        let mut noted = Noted(get(), Vec::new());
        check_clean(&run(&plan, &mut noted).unwrap(), 6);
        noted.1
    };
    // All are sent before the first reply: their wait behind it is the server's time.
    let together = made(6);
    assert!(together.iter().all(|times| times.sent_ns < together[0].ended_ns), "{together:?}");
    // One at a time, the others wait unsent, which counts from their intended times all the same.
    let apart = made(1);
    assert!(apart[1..].iter().all(|times| times.sent_ns >= apart[0].ended_ns), "{apart:?}");
    assert!(apart.iter().chain(&together).all(|times| times.intended_ns < 6));
    assert_eq!(server.accepted(), 2);
}

#[test]
fn requests_behind_one_that_timed_out_were_closed_with_it() {
    let server = server(|n| if n == 0 { Deed::Hang } else { Deed::Answer(OK) });
    let plan = Plan {
        arrivals: Arrivals::Closed { depth: 4 },
        timeout: Duration::from_millis(300),
        ..closed(&server, 1, 20)
    };
    let report = run(&plan, &mut get()).unwrap();
    assert_eq!((report.errors.timeout, report.errors.closed), (1, 3));
    assert_eq!(report.requests, 16);
}

#[test]
fn requests_behind_a_reply_that_closes_are_failed_and_not_sent_again() {
    let server = server(|n| Deed::Answer(if n == 1 { OK_CLOSE } else { OK }));
    let plan = Plan { arrivals: Arrivals::Closed { depth: 4 }, ..closed(&server, 1, 20) };
    let report = run(&plan, &mut get()).unwrap();
    assert_eq!(report.requests + report.errors.closed, 20);
    assert!(report.errors.closed >= 1, "{:?}", report.errors);
    assert_eq!(server.accepted(), 2);
}

/// A channel whose handshake is a byte to and fro, and that turns each byte around.
#[derive(Debug, Default)]
struct Turned {
    is_ready: bool,
    has_greeted: bool,
    wire: Vec<u8>,
}

#[derive(Debug)]
struct TurnedSource;

impl ChannelSource for TurnedSource {
    fn open(&self) -> std::io::Result<Box<dyn Channel>> {
        Ok(Box::new(Turned::default()))
    }
}

impl Channel for Turned {
    fn receive(&mut self, wire: &[u8], plain: &mut Vec<u8>) -> std::io::Result<()> {
        let mut bytes = wire.iter();
        if !self.is_ready {
            match bytes.next() {
                Some(b'!') => self.is_ready = true,
                _ => return Err(std::io::Error::other("no greeting")),
            }
        }
        plain.extend(bytes.map(|byte| !byte));
        Ok(())
    }

    fn send(&mut self, plain: &[u8]) -> std::io::Result<()> {
        self.wire.extend(plain.iter().map(|byte| !byte));
        Ok(())
    }

    fn take_wire(&mut self, wire: &mut Vec<u8>) -> std::io::Result<()> {
        if !std::mem::replace(&mut self.has_greeted, true) {
            wire.push(b'?');
        }
        wire.append(&mut self.wire);
        Ok(())
    }

    fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn has_ended(&self) -> bool {
        false
    }
}

/// A stream behind such a channel, as the server sees it.
struct TurnedStream(TcpStream);

impl Read for TurnedStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(buffer)?;
        buffer[..read].iter_mut().for_each(|byte| *byte = !*byte);
        Ok(read)
    }
}

impl Write for TurnedStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let turned: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        self.0.write_all(&turned)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn turned_server(greeting: u8) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let mut greeted = [0];
                stream.read_exact(&mut greeted).unwrap();
                assert_eq!(greeted, [b'?']);
                stream.write_all(&[greeting]).unwrap();
                serve_stream(TurnedStream(stream), &Counts::default(), |_| Deed::Answer(OK));
            });
        }
    });
    address
}

#[test]
fn requests_go_through_a_channel_once_hands_are_shaken() {
    let target = Target::Tcp(turned_server(b'!'));
    for depth in [1, 5] {
        let channel: Option<Arc<dyn ChannelSource>> = Some(Arc::new(TurnedSource));
        let plan = Plan {
            channel,
            arrivals: Arrivals::Closed { depth },
            ..Plan::closed(target.clone(), 3, Stop::Count(301))
        };
        check_clean(&run(&plan, &mut get()).unwrap(), 301);
    }
}

#[test]
fn a_server_that_shakes_no_hands_is_not_reached() {
    let target = Target::Tcp(turned_server(b'-'));
    let channel: Option<Arc<dyn ChannelSource>> = Some(Arc::new(TurnedSource));
    let plan = Plan { channel, ..Plan::closed(target, 2, Stop::Count(3)) };
    let Err(LoadError::Connect { source, .. }) = run(&plan, &mut get()) else { panic!() };
    assert_eq!(source.to_string(), "no greeting");
}

#[test]
fn opens_a_new_connection_when_the_server_closes() {
    for deed in [|_| Deed::Answer(OK_CLOSE), |_| Deed::Answer(UNTIL_CLOSE)] as [fn(u64) -> Deed; 2]
    {
        let server = server(deed);
        check_clean(&run(&closed(&server, 2, 20), &mut get()).unwrap(), 20);
    }
}

#[test]
fn counts_a_lost_connection_as_an_error_and_goes_on() {
    let server = server(|n| if n % 10 == 3 { Deed::Close } else { Deed::Answer(OK) });
    let report = run(&closed(&server, 1, 100), &mut get()).unwrap();
    assert_eq!((report.requests, report.errors.closed, report.errors.total()), (90, 10, 10));
}

#[test]
fn counts_a_reply_that_never_comes_as_a_timeout() {
    let server = server(|n| if n == 5 { Deed::Hang } else { Deed::Answer(OK) });
    let plan = Plan { timeout: Duration::from_millis(300), ..closed(&server, 1, 20) };
    let report = run(&plan, &mut get()).unwrap();
    assert_eq!((report.requests, report.errors.timeout, report.errors.total()), (19, 1, 1));
}

#[test]
fn a_reply_that_comes_after_the_time_out_is_no_success() {
    let server = server(|_| Deed::AnswerAfter(Duration::from_millis(60), OK));
    let timeout = Duration::from_millis(50);
    let report = run(&Plan { timeout, ..closed(&server, 2, 20) }, &mut get()).unwrap();
    assert_eq!((report.requests, report.errors.timeout, report.errors.total()), (0, 20, 20));
    let arrivals = Arrivals::Uniform { rate: 50.0 };
    let plan = Plan { timeout, ..Plan::open(server.target(), arrivals, 2, Stop::Count(20)) };
    let report = run(&plan, &mut get()).unwrap();
    assert_eq!((report.requests, report.errors.total()), (0, 20), "{:?}", report.errors);
}

/// Notes for how long connections were refused at most, and ends the run when that is too long.
#[derive(Default)]
struct Patience {
    refused_ns_max: u64,
    cancel: Arc<AtomicBool>,
}

impl Requests for Patience {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        get().next(out)
    }

    fn pulse(&mut self, pulse: &Pulse) {
        self.refused_ns_max = self.refused_ns_max.max(pulse.refused_ns);
        self.cancel.store(self.refused_ns_max > 300_000_000, Ordering::SeqCst);
    }
}

#[test]
fn connections_that_the_server_closes_after_each_reply_are_none_that_it_refuses() {
    for answer in [|_| Deed::Answer(OK_CLOSE), |_| Deed::Answer(UNTIL_CLOSE)] as [fn(u64) -> _; 2] {
        let server = server(answer);
        let arrivals = Arrivals::Uniform { rate: 40.0 };
        let plan = Plan::open(server.target(), arrivals, 2, Stop::Count(20));
        let mut patience = Patience::default();
        check_clean(&run(&plan, &mut patience).unwrap(), 20);
        assert_eq!(patience.refused_ns_max, 0);
    }
}

#[test]
fn tells_for_how_long_a_server_that_is_gone_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(listener.local_addr().unwrap());
    // One connection, and nobody listens any more.
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        drop(listener);
        serve_stream(stream, &Counts::default(), |_| Deed::Answer(OK_CLOSE));
    });
    let mut patience = Patience::default();
    let cancel = Some(Arc::clone(&patience.cancel));
    let plan = Plan { cancel, ..Plan::closed(target, 1, Stop::Count(u64::MAX)) };
    let report = run(&plan, &mut patience).unwrap();
    assert_eq!(report.requests, 1);
    assert!(report.errors.connect > 0 && patience.refused_ns_max > 300_000_000);
}

#[test]
fn counts_what_is_not_http_as_malformed() {
    let server = server(|_| Deed::Answer("220 mail.example ESMTP\r\n\r\n"));
    let report = run(&closed(&server, 1, 3), &mut get()).unwrap();
    assert_eq!((report.requests, report.errors.malformed, report.errors.total()), (0, 3, 3));
}

#[test]
fn counts_replies_that_differ_from_what_was_expected() {
    let server = server(|_| Deed::Answer("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"));
    let report = run(&closed(&server, 1, 7), &mut get()).unwrap();
    assert_eq!(report.statuses().collect::<Vec<_>>(), [(503, 7)]);
    assert_eq!((report.status_mismatches, report.bytes_mismatches), (7, 7));
    assert!(!report.is_clean());
}

#[test]
fn open_loop_latency_counts_from_the_intended_time() {
    let stall = Duration::from_millis(200);
    let server = server(|n| match n {
        0 => Deed::AnswerAfter(Duration::from_millis(200), OK),
        _ => Deed::Answer(OK),
    });
    let arrivals = Arrivals::Uniform { rate: 1000.0 };
    let plan =
        Plan { connections_max: 1, ..Plan::open(server.target(), arrivals, 1, Stop::Count(100)) };
    let report = run(&plan, &mut get()).unwrap();
    check_clean(&report, 100);
    // All hundred were meant within the stall's first half, and wait for its end.
    let half = stall.as_micros() as u64 / 2;
    assert!(report.latency.min() >= half, "{} µs", report.latency.min());
    assert!(report.backlog_max >= 99);
    assert!(report.service.value_at_quantile(0.5) < report.latency.value_at_quantile(0.5));
}

#[test]
fn a_generator_that_is_held_up_says_so() {
    // The source of requests takes its time, and arrivals are due meanwhile.
    struct Slow(Template);
    impl Requests for Slow {
        fn next(&mut self, out: &mut Vec<u8>) -> Ask {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(5) {
                thread::yield_now();
            }
            self.0.next(out)
        }

        fn done(&mut self, _ticket: u64, _outcome: RequestOutcome<'_>) {}
    }
    let server = server(|_| Deed::Answer(OK));
    let arrivals = Arrivals::Uniform { rate: 1000.0 };
    let plan = Plan::open(server.target(), arrivals, 64, Stop::Count(40));
    let report = run(&plan, &mut Slow(get())).unwrap();
    check_clean(&report, 40);
    assert!(report.late.max() >= 5000, "{} µs", report.late.max());
}

#[test]
fn open_loop_gives_no_request_to_a_connection_with_half_a_reply() {
    // The other half of the first reply comes only when another connection brings a request.
    let server = server(|n| match n {
        0 => Deed::AnswerHalfOnceSeen(2, OK),
        _ => Deed::Answer(OK),
    });
    let plan = Plan {
        timeout: Duration::from_secs(5),
        ..Plan::open(server.target(), Arrivals::Uniform { rate: 200.0 }, 2, Stop::Count(40))
    };
    let report = run(&plan, &mut get()).unwrap();
    check_clean(&report, 40);
}

#[test]
fn open_loop_adds_connections_while_all_are_busy() {
    let server = server(|_| Deed::AnswerOnceAccepted(2, OK));
    let arrivals = Arrivals::Poisson { rate: 500.0, seed: 7 };
    let plan = Plan::open(server.target(), arrivals, 1, Stop::Count(100));
    let report = run(&plan, &mut get()).unwrap();
    check_clean(&report, 100);
    assert!(report.connections > 1);
    assert!(report.connections as u64 <= server.accepted());
}

#[test]
fn intended_requests_that_never_find_a_connection_are_errors() {
    let server = server(|_| Deed::Hang);
    let arrivals = Arrivals::Uniform { rate: 1000.0 };
    let plan = Plan {
        connections_max: 1,
        timeout: Duration::from_millis(200),
        ..Plan::open(server.target(), arrivals, 1, Stop::Count(50))
    };
    let report = run(&plan, &mut get()).unwrap();
    assert_eq!(report.requests, 0);
    assert_eq!(report.errors.timeout + report.errors.unsent, 50, "{:?}", report.errors);
    assert!(report.errors.unsent > 0);
}

#[test]
fn leaves_the_warm_up_out_of_the_report() {
    let server = server(|_| Deed::Answer(OK));
    let plan = Plan { warm_up: Duration::from_millis(50), ..closed(&server, 2, 100) };
    check_clean(&run(&plan, &mut get()).unwrap(), 100);
    assert!(server.seen() > 100);
}

#[test]
fn stops_when_cancelled() {
    let server = server(|_| Deed::Answer(OK));
    let plan = Plan {
        cancel: Some(Arc::new(AtomicBool::new(true))),
        stop: Stop::After(Duration::from_secs(3600)),
        ..closed(&server, 2, 0)
    };
    assert!(run(&plan, &mut get()).unwrap().is_clean());
}

#[test]
fn a_cancelled_run_does_not_wait_for_a_server_that_hangs() {
    let server = server(|_| Deed::Hang);
    let cancel = Some(Arc::new(AtomicBool::new(true)));
    let stop = Stop::After(Duration::from_secs(3600));
    let report = run(&Plan { cancel, stop, ..closed(&server, 2, 0) }, &mut get()).unwrap();
    assert_eq!((report.requests, report.errors.cut), (0, 2));
}

#[test]
fn arrivals_at_given_times_are_all_made_and_end_the_run() {
    let server = server(|_| Deed::Answer(OK));
    let at: Arc<[u64]> = [0, 1_000_000, 1_000_000, 30_000_000].into();
    let stop = Stop::After(Duration::from_secs(3600));
    let plan = Plan::open(server.target(), Arrivals::At(at.clone()), 1, stop);
    let mut witness = Witness::default();
    check_clean(&run(&plan, &mut witness).unwrap(), 4);
    witness.intended.sort_unstable();
    assert_eq!(witness.intended, *at);
    assert!(witness.pulses > 0);
    check_clean(&run_threads(&Plan { connections: 3, ..plan }, 3, |_| get()).unwrap(), 4);
}

#[test]
fn an_intended_request_is_either_made_or_skipped() {
    let server = server(|_| Deed::Hang);
    let arrivals = Arrivals::Uniform { rate: 1000.0 };
    let plan = Plan {
        connections_max: 1,
        timeout: Duration::from_millis(50),
        ..Plan::open(server.target(), arrivals, 1, Stop::Count(100))
    };
    let mut witness = Witness::default();
    run(&plan, &mut witness).unwrap();
    assert_eq!(witness.made + witness.skipped, 100);
    assert!(witness.skipped > 0);
    assert_eq!(witness.failed, witness.made);
}

/// Notes what it is told.
#[derive(Default)]
struct Witness {
    made: u64,
    skipped: u64,
    failed: u64,
    pulses: u64,
    intended: Vec<u64>,
}

impl Requests for Witness {
    fn next(&mut self, out: &mut Vec<u8>) -> Ask {
        self.made += 1;
        get().next(out)
    }

    fn done(&mut self, _: u64, outcome: RequestOutcome<'_>) {
        let times = match outcome {
            RequestOutcome::Reply(reply) => reply.times,
            RequestOutcome::Failed(failure) => {
                self.failed += 1;
                failure.times
            }
        };
        assert!(times.intended_ns <= times.sent_ns && times.sent_ns <= times.ended_ns);
        self.intended.push(times.intended_ns);
    }

    fn skip(&mut self, _: u64) {
        self.skipped += 1;
    }

    fn pulse(&mut self, _: &Pulse) {
        self.pulses += 1;
    }
}

#[test]
fn threads_share_the_count_and_the_connections() {
    let server = server(|_| Deed::Answer(OK));
    let report = run_threads(&closed(&server, 5, 1001), 2, |_| get()).unwrap();
    check_clean(&report, 1001);
    assert_eq!(server.accepted(), 5);
}

#[test]
fn hands_the_kept_reply_to_the_source() {
    struct Curious(Vec<(u64, String)>);
    impl Requests for Curious {
        fn next(&mut self, out: &mut Vec<u8>) -> Ask {
            let ask = get().next(out);
            Ask { keep: true, ticket: self.0.len() as u64, ..ask }
        }
        fn done(&mut self, ticket: u64, outcome: RequestOutcome<'_>) {
            let RequestOutcome::Reply(reply) = outcome else { panic!("no reply") };
            assert!(reply.head.starts_with(b"HTTP/1.1 200 OK\r\n"));
            self.0.push((ticket, String::from_utf8(reply.body.to_vec()).unwrap()));
        }
    }
    let server = server(|_| Deed::Answer(OK));
    let mut curious = Curious(Vec::new());
    run(&closed(&server, 1, 2), &mut curious).unwrap();
    assert_eq!(curious.0, [(0, "ok".to_owned()), (1, "ok".to_owned())]);
}

#[test]
fn refuses_a_target_where_nobody_listens() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let plan = Plan::closed(Target::Tcp(address), 2, Stop::Count(1));
    assert!(matches!(run(&plan, &mut get()), Err(LoadError::Connect { .. })));
}

#[test]
fn refuses_plans_that_contradict_themselves() {
    let target: Target = "127.0.0.1:1".parse().unwrap();
    let closed = Plan::closed(target.clone(), 1, Stop::Count(1));
    let open = |rate| Plan::open(target.clone(), Arrivals::Uniform { rate }, 1, Stop::Count(1));
    for plan in [
        Plan { connections: 0, ..closed.clone() },
        Plan { arrivals: Arrivals::Closed { depth: 0 }, ..closed },
        open(0.0),
        open(f64::NAN),
    ] {
        assert!(matches!(run(&plan, &mut get()), Err(LoadError::Plan(_))));
    }
    assert!(matches!("nowhere".parse::<Target>(), Err(LoadError::Target(_))));
}

#[test]
fn held_connections_stay_open_until_the_server_closes_them() {
    let server = server(|n| if n < 5 { Deed::Answer(OK) } else { Deed::Answer(OK_CLOSE) });
    let second = Duration::from_secs(1);
    let held = IdleConnections::open(&server.target(), 5, second, &mut get()).unwrap();
    assert_eq!(held.alive(), 5);
    let mut mix = Mix::new([(1, get())]);
    let held = IdleConnections::open(&server.target(), 1, second, &mut mix).unwrap();
    while held.alive() > 0 {
        thread::yield_now();
    }
}
