//! Claims about connections that are idle, slow or left by the client, and about the drain.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use http1::{ClientHeaders, TrustedProxies};
use metrics::Registry;
use socket2::{Domain, SockRef, Socket, Type};
use stdx::Network;
use testkit::FIXTURE_TIMEOUT;

use super::{reply_to, serve, serve_plain, serve_within};
use crate::clients::ClientBudgets;
use crate::http::Limits;
use crate::inflight::Inflight;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const WATCHED: &str = "GET /watched HTTP/1.1\r\nHost: a\r\n\r\n";
const WAIT: &str = "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn idle_connections_hold_no_buffer_whatever_they_sent_before() {
    let served = serve_plain();
    let mut idle = Vec::new();
    for _ in 0..50 {
        let mut client = served.client();
        reply_to(&mut client, GET);
        let body = "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
        reply_to(&mut client, body);
        reply_to(&mut client, &body.replace("/echo", "/ignore"));
        // The body arrives behind its head, so it is read into a second buffer.
        let (head, rest) = body.split_at(body.len() - 3);
        client.write_raw(head.replace("/echo", "/wait").as_bytes()).unwrap();
        served.wait_for_arrival();
        client.write_raw(rest.as_bytes()).unwrap();
        served.gate.add_permits(1);
        client.read_reply("POST").unwrap();
        // Empty lines between requests must not keep a buffer either.
        client.write_raw(b"\r\n").unwrap();
        idle.push(client);
    }
    let buffers = served.buffers.lock().unwrap().len();
    assert!(buffers <= 6, "{buffers} buffers were lent to one busy connection at a time");
}

#[test]
fn a_client_that_leaves_within_the_reply_ends_it() {
    let served = serve_plain();
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut some = [0; 100_000];
    stream.read_exact(&mut some).unwrap();
    drop(stream);
    assert!(!served.next_sent().complete);
}

#[test]
fn a_client_that_left_while_its_answer_was_made_harms_nobody() {
    let served = serve_plain();
    let mut client = served.client();
    client.write_raw(WAIT.as_bytes()).unwrap();
    served.wait_for_arrival();
    drop(client);
    served.gate.add_permits(1);
    assert_eq!(served.next_sent().status, 200);
    assert_eq!(reply_to(&mut served.client(), GET).status, 200);
}

#[test]
fn a_client_that_leaves_ends_what_is_made_for_it_if_the_role_says_so() {
    let served = serve_plain();
    for leave in [
        |_: &TcpStream| {},
        |stream: &TcpStream| SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap(),
        |stream: &TcpStream| stream.shutdown(Shutdown::Write).unwrap(),
    ] {
        // Bytes behind its request do not mean that the client stays.
        for request in [WATCHED.to_owned(), format!("{WATCHED}{GET}")] {
            let stream = TcpStream::connect(served.address).unwrap();
            (&stream).write_all(request.as_bytes()).unwrap();
            served.wait_for_arrival();
            leave(&stream);
            drop(stream);
            let sent = served.next_sent();
            assert_eq!((sent.status, sent.bytes_out, sent.complete), (0, 0, false));
        }
    }
    assert_eq!(reply_to(&mut served.client(), GET).status, 200);
}

#[test]
fn a_client_that_leaves_while_the_next_piece_is_made_ends_the_reply() {
    let served = serve_plain();
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(b"GET /silent HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    drop(stream);
    let sent = served.next_sent();
    assert_eq!((sent.status, sent.complete, sent.body_failed), (200, false, false));
}

#[test]
fn what_a_client_sends_while_it_waits_is_kept_and_wakes_nobody() {
    let served = serve_plain();
    let mut client = served.client();
    client.write_raw(WATCHED.as_bytes()).unwrap();
    served.wait_for_arrival();
    let mut other = served.client();
    for _ in 0..20 {
        client.write_raw(GET.as_bytes()).unwrap();
        // When another request is answered, any wake-up of the waiting one has happened.
        assert_eq!(reply_to(&mut other, GET).status, 200);
    }
    // The task that read the head may be woken once for the bytes behind it.
    let polls = served.polls.load(Ordering::SeqCst);
    assert!(polls <= 2, "{polls}");
    served.gate.add_permits(1);
    assert_eq!(client.read_reply("GET").unwrap().text(), "watched");
    for _ in 0..20 {
        assert_eq!(client.read_reply("GET").unwrap().text(), "GET a /");
    }
}

#[test]
fn a_client_may_stop_sending_and_still_gets_its_answer() {
    let served = serve_plain();
    let mut client = served.client();
    client.write_raw(WAIT.as_bytes()).unwrap();
    client.finish_sending().unwrap();
    served.wait_for_arrival();
    served.gate.add_permits(1);
    assert_eq!(client.read_reply("GET").unwrap().text(), "waited");
    assert_eq!(client.read_to_close().unwrap(), b"");
}

#[test]
fn connections_that_exceed_a_time_limit_are_closed() {
    let limits = Limits {
        idle_timeout: Duration::ZERO,
        head_timeout: Duration::ZERO,
        receive_timeout: Duration::ZERO,
        send_timeout: Duration::ZERO,
        ..Limits::default()
    };
    let served = serve(limits);
    // Idle, within a head: the sweep ends each of them.
    for sent in ["", "GET / HT"] {
        let mut client = served.client();
        client.write_raw(sent.as_bytes()).unwrap();
        assert_eq!(client.read_to_close().unwrap(), b"");
    }
    // Within a body the client learns why.
    let mut client = served.client();
    client.write_raw(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc").unwrap();
    assert_eq!(client.read_reply("POST").unwrap().status, 408);
    client.read_to_close().unwrap();
    // The client does not read, so the reply ends early.
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let sent = std::iter::repeat_with(|| served.next_sent()).find(|sent| sent.status == 200);
    assert!(sent.is_some_and(|sent| !sent.complete));
    // The sweep does not limit the time that the role takes.
    let mut client = served.client();
    client.write_raw(WAIT.as_bytes()).unwrap();
    served.wait_for_arrival();
    let mut idle = served.client();
    idle.read_to_close().unwrap();
    served.gate.add_permits(1);
    assert_eq!(client.read_reply("GET").unwrap().text(), "waited");
}

#[test]
fn the_drain_closes_idle_connections_and_lets_busy_ones_finish() {
    let served = serve_plain();
    let mut idle = served.client();
    reply_to(&mut idle, GET);
    let mut busy = served.client();
    busy.write_raw(WAIT.as_bytes()).unwrap();
    served.wait_for_arrival();
    let mut half = served.client();
    half.write_raw(b"GET / HTTP/1.1\r\nHos").unwrap();
    // Once a later request of another connection is answered, half the head has been read.
    reply_to(&mut idle, GET);
    served.drain.begin(FIXTURE_TIMEOUT);
    assert_eq!(idle.read_to_close().unwrap(), b"", "idle connections close at once");
    half.write_raw(b"t: a\r\n\r\n").unwrap();
    let reply = half.read_reply("GET").unwrap();
    assert_eq!(reply.header("connection"), Some("close"));
    served.gate.add_permits(1);
    let reply = busy.read_reply("GET").unwrap();
    assert_eq!((reply.text(), reply.header("connection")), ("waited", Some("close")));
    let address = served.address;
    served.finish(FIXTURE_TIMEOUT);
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn the_drain_ends_at_its_deadline_whoever_is_busy() {
    let served = serve_plain();
    let mut busy = served.client();
    busy.write_raw(WAIT.as_bytes()).unwrap();
    served.wait_for_arrival();
    served.finish(Duration::from_millis(1));
    assert_eq!(busy.read_to_close().unwrap(), b"");
}

#[test]
fn connections_beyond_the_bound_are_told_503_and_closed() {
    let served = serve(Limits { connections_max: 2, ..Limits::default() });
    let mut first = served.client();
    let mut second = served.client();
    reply_to(&mut first, GET);
    reply_to(&mut second, GET);
    for sent in ["", GET] {
        let mut third = served.client();
        // The server may have closed already, but its reply can still be read.
        let _ = third.write_raw(sent.as_bytes());
        let reply = third.read_reply("GET").unwrap();
        assert_eq!((reply.status, reply.header("retry-after")), (503, Some("1")));
    }
    assert_eq!(served.refused.load(Ordering::SeqCst), 2);
    assert_eq!(reply_to(&mut first, GET).status, 200);
}

#[test]
fn a_client_gets_its_share_of_the_connections_but_a_trusted_proxy_all() {
    let answered = |trusted: &[&str], from: [u8; 4]| {
        let budgets = ClientBudgets::new(Inflight::unbounded(), 0.5);
        let networks: Vec<_> = trusted.iter().map(|text| Network::parse(text).unwrap()).collect();
        let trusted = TrustedProxies::new(&networks, ClientHeaders::XForwarded);
        let limits = Limits { connections_max: 4, trusted, ..Limits::default() };
        let served = serve_within(limits, Arc::new(budgets));
        let mut first: Vec<_> = (0..2).map(|_| served.client()).collect();
        first.iter_mut().for_each(|client| assert_eq!(reply_to(client, GET).status, 200));
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((from, 0)).into()).unwrap();
        socket.connect(&served.address.into()).unwrap();
        let mut third = TcpStream::from(socket);
        third.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
        let _ = third.write_all(GET.as_bytes());
        let mut status = [0; 12];
        third.read_exact(&mut status).unwrap();
        // A place that is given back is free again.
        drop(first.remove(0));
        while reply_to(&mut served.client(), GET).status == 503 {}
        String::from_utf8_lossy(&status[9..]).into_owned()
    };
    assert_eq!(answered(&[], [127, 0, 0, 1]), "503");
    assert_eq!(answered(&[], [127, 0, 0, 2]), "200");
    assert_eq!(answered(&["127.0.0.0/8"], [127, 0, 0, 1]), "200");
}

/// Sends a body byte by byte until a reply begins, and returns its first line.
fn trickle(limits: Limits) -> String {
    let served = serve(limits);
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n").unwrap();
    // The pace of the client: a byte for each wait.
    stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
    while stream.peek(&mut [0]).is_err() {
        // In the end the server no longer takes bytes.
        let _ = stream.write(b"x");
    }
    let mut reply = [0; 32];
    let length = stream.read(&mut reply).unwrap();
    String::from_utf8_lossy(&reply[..length]).into_owned()
}

#[test]
fn a_body_that_trickles_in_is_refused_by_its_rate() {
    let limits =
        Limits { rate_min: u64::MAX, rate_grace: Duration::from_secs(1), ..Limits::default() };
    assert!(trickle(limits).starts_with("HTTP/1.1 408 "));
}

#[test]
fn a_body_that_trickles_in_is_refused_at_its_deadline() {
    let limits = Limits { rate_min: 0, body_timeout: Duration::from_secs(1), ..Limits::default() };
    assert!(trickle(limits).starts_with("HTTP/1.1 408 "));
}

#[test]
fn a_client_that_reads_too_slowly_loses_its_connection() {
    let limits =
        Limits { rate_min: u64::MAX, rate_grace: Duration::from_secs(1), ..Limits::default() };
    let served = serve(limits);
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    // It reads now and then, so that no single wait is long.
    let slow = std::thread::spawn(move || while stream.read(&mut [0; 64]).is_ok_and(|n| n > 0) {});
    let sent = std::iter::repeat_with(|| served.next_sent()).find(|sent| sent.status == 200);
    assert!(sent.is_some_and(|sent| !sent.complete));
    slow.join().unwrap();
}

#[test]
fn a_part_of_a_head_is_charged_until_the_rest_has_come_and_refused_without_budget() {
    let budget = Inflight::new(40_000, &Registry::default());
    let budgets = Arc::new(ClientBudgets::new(Arc::clone(&budget), 1.0));
    let served = serve_within(Limits::default(), budgets);
    let mut one = served.client();
    one.write_raw(b"GET / HT").unwrap();
    let deadline = Instant::now() + FIXTURE_TIMEOUT;
    while budget.bytes() == 0 {
        assert!(Instant::now() < deadline, "nothing is charged");
        std::thread::yield_now();
    }
    let mut other = served.client();
    other.write_raw(b"GET / HT").unwrap();
    assert_eq!(other.read_to_close().unwrap(), b"");
    one.write_raw(b"TP/1.1\r\nHost: a\r\n\r\n").unwrap();
    assert_eq!(one.read_reply("GET").unwrap().status, 200);
    assert_eq!(budget.bytes(), 0);
}
