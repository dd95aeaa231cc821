//! That each datagram goes on to every server, and what becomes of those that cannot.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use super::{DatagramBatch, RETRY, Repeat, RepeatTarget, Repeater};
use crate::tests::logged;

/// Hands datagrams over, in batches of two, and waits until they are sent.
fn repeat(to: &[String], is_tcp: bool, datagrams: &[&[u8]]) -> Repeater {
    let repeater = Repeater::start(to, is_tcp).expect("a thread");
    let mut way = repeater.way().expect("it has not ended");
    for batch in datagrams.chunks(2) {
        batch.iter().for_each(|datagram| way.add(datagram));
        way.hand_over();
    }
    way.hand_over();
    drop(way);
    repeater.end();
    assert!(repeater.way().is_none(), "it has ended");
    repeater
}

#[test]
fn every_server_gets_every_datagram_as_it_came() {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a socket"));
    let to = sockets.each_ref().map(|socket| socket.local_addr().expect("one").to_string());
    let datagrams: [&[u8]; 5] = [b"a:1|c", b"b:1|c\nc:1|c", b"", b"\xff\0", b"last"];
    let repeater = repeat(&to, false, &datagrams);
    assert_eq!((repeater.failed(), repeater.dropped()), (0, 0));
    for socket in &sockets {
        socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
        for wanted in datagrams {
            let mut buffer = [0; 100];
            let length = socket.recv(&mut buffer).expect("it was sent");
            assert_eq!(&buffer[..length], wanted);
        }
    }
}

#[test]
fn over_tcp_each_datagram_ends_with_a_line_feed() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let to = [listener.local_addr().expect("an address").to_string()];
    let repeater = repeat(&to, true, &[b"a:1|c", b"b:1|c", b"c:1|c"]);
    assert_eq!((repeater.failed(), repeater.dropped()), (0, 0));
    let mut text = String::new();
    let (mut stream, _) = listener.accept().expect("one connection for all");
    stream.read_to_string(&mut text).expect("it ends");
    assert_eq!(text, "a:1|c\nb:1|c\nc:1|c\n");
}

#[test]
fn what_cannot_be_sent_is_counted_by_datagram_and_server() {
    let away = || format!("127.0.0.1:{}", testkit::free_port());
    let repeater = repeat(&[away(), "no such host".to_owned()], true, &[b"a", b"b", b"c"]);
    assert_eq!((repeater.failed(), repeater.dropped()), (6, 0));
    // Over UDP nobody says that a server is away, but too long a piece cannot be sent.
    let long = vec![b'x'; 65_508];
    let repeater = repeat(&[away()], false, &[b"a", b"b", &long, b"c"]);
    assert_eq!(repeater.failed(), 1);
}

#[test]
fn what_finds_no_room_is_dropped_and_counted_by_datagram() {
    let (queue, batches) = sync_channel(1);
    let mut way = Repeat { queue, batch: DatagramBatch::default(), dropped: Arc::default() };
    let dropped = |way: &Repeat| way.dropped.load(std::sync::atomic::Ordering::Relaxed);
    way.hand_over();
    assert!(batches.try_recv().is_err(), "there was nothing");
    for (datagrams, lost) in [(1, 0), (3, 3), (2, 5)] {
        (0..datagrams).for_each(|_| way.add(b"a:1|c"));
        way.hand_over();
        assert_eq!(dropped(&way), lost);
    }
    assert_eq!(batches.recv().expect("one had room").ends, [5]);
}

#[test]
fn a_server_that_is_away_is_tried_again_after_a_while_and_not_before() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut target = RepeatTarget::new(&format!("127.0.0.1:{}", testkit::free_port()), true);
    let before = Instant::now();
    assert!(!target.send_one(b"a"), "nobody listens");
    assert!(target.retry.is_some_and(|retry| retry >= before + RETRY));
    target.to = listener.local_addr().expect("an address").to_string();
    target.retry = Some(Instant::now() + Duration::from_secs(3600));
    assert!(!target.send_one(b"a"), "it is too early");
    target.retry = Some(Instant::now());
    assert!(target.send_one(b"a") && target.retry.is_none());
}

#[test]
fn that_a_server_is_away_is_logged_once_until_it_is_back() {
    let away = format!("127.0.0.1:{}", testkit::free_port());
    let mut target = RepeatTarget::new(&away, true);
    let mut said = |to: &str| {
        target.to = to.to_owned();
        target.way = None;
        logged(|| target.open()).len()
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let there = listener.local_addr().expect("an address").to_string();
    let steps = [&away, &away, &there, &there, &away];
    assert_eq!(steps.map(|to| said(to)), [1, 0, 0, 0, 1]);
}
