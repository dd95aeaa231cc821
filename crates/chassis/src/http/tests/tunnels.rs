//! Claims about interim responses, and about connections that become tunnels.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use testkit::FIXTURE_TIMEOUT;

use super::{Served, exchange, replies, serve_plain};

const UPGRADE: &str =
    "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";

fn connect(served: &Served, request: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(served.address).unwrap();
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    BufReader::new(stream)
}

/// Reads a head; returns its lines.
fn head(from: &mut BufReader<TcpStream>) -> Vec<String> {
    let lines = from.lines().map(Result::unwrap);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn heard<const N: usize>(from: &mut BufReader<TcpStream>) -> [u8; N] {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn interim_responses_arrive_at_once_and_in_order() {
    let served = serve_plain();
    let mut stream = connect(&served, "GET /early HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(head(&mut stream), ["HTTP/1.1 103 Early Hints", "link: </a.css>"]);
    served.wait_for_arrival();
    served.gate.add_permits(1);
    assert_eq!(head(&mut stream), ["HTTP/1.1 102 Processing"]);
    assert_eq!(head(&mut stream)[0], "HTTP/1.1 200 OK");
    assert_eq!(&heard::<4>(&mut stream), b"late");
}

#[test]
fn clients_of_http_1_0_get_no_interim_response() {
    let served = serve_plain();
    served.gate.add_permits(1);
    let text = exchange(&served, b"GET /early HTTP/1.0\r\n\r\n");
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert_eq!(replies(&text), 1, "{text}");
}

#[test]
fn a_tunnel_passes_bytes_both_ways_from_the_first_behind_the_request_on() {
    let served = serve_plain();
    // The bytes behind the upgrade look like a request, but belong to the new protocol.
    let early = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut stream = connect(&served, &format!("{UPGRADE}{early}"));
    let fields = head(&mut stream);
    assert_eq!(fields[0], "HTTP/1.1 101 Switching Protocols");
    assert!(fields.contains(&"connection: upgrade".to_owned()), "{fields:?}");
    assert!(fields.contains(&"upgrade: echo".to_owned()), "{fields:?}");
    assert!(!fields.iter().any(|f| f.starts_with("content-length")), "{fields:?}");
    assert_eq!(&heard::<33>(&mut stream), early.as_bytes());
    let large = vec![b'x'; 1 << 20];
    let mut writing = stream.get_ref().try_clone().unwrap();
    let own = large.clone();
    let writer = std::thread::spawn(move || writing.write_all(&own).unwrap());
    let mut echoed = vec![0; large.len()];
    stream.read_exact(&mut echoed).unwrap();
    assert!(echoed == large);
    writer.join().unwrap();
    stream.get_ref().shutdown(Shutdown::Write).unwrap();
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).unwrap();
    assert_eq!(rest, b"bye", "the far side may speak on after the client has ended its direction");
    let sent = served.next_sent();
    assert_eq!((sent.status, sent.complete), (101, true));
    assert_eq!((sent.bytes_in, sent.bytes_out), ((1 << 20) + 33, (1 << 20) + 36));
}

#[test]
fn a_quiet_tunnel_ends_when_its_time_is_over() {
    let served = serve_plain();
    let mut stream = connect(&served, &UPGRADE.replace("/tunnel", "/tunnel?0"));
    head(&mut stream);
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(!served.next_sent().complete);
}

#[test]
fn the_drain_ends_tunnels_when_they_are_quiet_and_all_of_them_at_its_deadline() {
    let served = serve_plain();
    let mut stream = connect(&served, UPGRADE);
    head(&mut stream);
    served.drain.begin(FIXTURE_TIMEOUT);
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
    assert!(!served.next_sent().complete);
    served.finish(FIXTURE_TIMEOUT);
    let served = serve_plain();
    let mut stream = connect(&served, UPGRADE);
    head(&mut stream);
    served.finish(Duration::ZERO);
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn a_client_that_breaks_off_ends_its_tunnel() {
    let served = serve_plain();
    let mut stream = connect(&served, UPGRADE);
    head(&mut stream);
    stream.get_ref().write_all(b"unread echo").unwrap();
    assert_eq!(&heard::<6>(&mut stream), b"unread");
    drop(stream);
    assert_eq!(served.next_sent().status, 101);
}
