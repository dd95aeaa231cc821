//! Lines that come in pieces, lines that do not end, and connections that come and go.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use tempfile::TempDir;

use super::super::streams::LINE_BYTES_MAX;
use super::{end, plan, sum};
use crate::server::StatsdServer;

/// A server that listens over TCP, and its address.
fn server(folder: &TempDir) -> (StatsdServer, String) {
    let address = format!("127.0.0.1:{}", testkit::free_port());
    let listen = [format!("tcp:{address}")];
    let plan = plan(folder.path(), &listen, 1);
    (StatsdServer::start(plan, None).expect("it starts"), address)
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    stream
}

/// Ends what is sent, and waits until the server has closed its side.
fn close(mut stream: TcpStream) {
    stream.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(stream.read(&mut [0]).expect("it ends in order"), 0);
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        std::thread::yield_now();
    }
}

#[test]
fn a_line_counts_once_however_it_is_cut() {
    let folder = TempDir::new().expect("a folder");
    let (server, address) = server(&folder);
    let lines = |server: &StatsdServer| server.state().figures().totals.lines;
    let mut stream = connect(&address);
    for (piece, whole) in [("a:1|", 0), ("c\nb:2|c\nc:3", 2), ("|c", 2), ("\n", 3), ("d:4|c", 3)] {
        stream.write_all(piece.as_bytes()).expect("it is open");
        wait_until(|| lines(&server) == whole);
    }
    close(stream);
    assert_eq!(lines(&server), 4, "the last one ends with its connection");
    let flush = end(server);
    let sums = ["a", "b", "c", "d"].map(|name| sum(&flush, name));
    assert_eq!(sums, [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(sum(&flush, "statsd.bad_lines_seen"), 0.0);
}

#[test]
fn connections_are_counted_while_they_are_open() {
    let folder = TempDir::new().expect("a folder");
    let (server, address) = server(&folder);
    let counts = || server.state().figures().connections;
    let mut streams: Vec<TcpStream> = (0..3).map(|_| connect(&address)).collect();
    wait_until(|| counts().open == 3);
    for stream in &mut streams {
        stream.write_all(b"a:1|c\n").expect("it is open");
    }
    wait_until(|| server.state().figures().totals.lines == 3);
    assert_eq!((counts().open, counts().displaced, counts().endless), (3, 0, 0));
    close(streams.remove(0));
    wait_until(|| counts().open == 2);
    drop(streams);
    wait_until(|| counts().open == 0);
    server.end();
}

#[test]
fn a_line_that_does_not_end_within_its_bound_is_read_and_ends_its_connection() {
    let folder = TempDir::new().expect("a folder");
    let (server, address) = server(&folder);
    let counts = || server.state().figures().connections;
    let longest = "x".repeat(LINE_BYTES_MAX - "a:1|c\n".len());
    let mut stream = connect(&address);
    stream.write_all(format!("b:1|c\n{longest}").as_bytes()).expect("it is open");
    stream.write_all(b"123456\na:1|c\n").expect("it is open");
    close(stream);
    assert_eq!(counts().endless, 0, "so long may a line be");
    let totals = server.state().figures().totals;
    assert_eq!((totals.lines, totals.bad.iter().sum::<u64>()), (3, 1));
    let mut stream = connect(&address);
    stream.write_all(format!("a:2|c\n{longest}1234567").as_bytes()).expect("it is open");
    assert_eq!(stream.read(&mut [0]).expect("it ends in order"), 0);
    wait_until(|| counts().open == 0);
    assert_eq!(counts().endless, 1);
    let flush = end(server);
    assert_eq!((sum(&flush, "a"), sum(&flush, "statsd.bad_lines_seen")), (3.0, 2.0));
}

#[test]
fn a_connection_that_is_reset_is_closed_and_no_other_with_it() {
    let folder = TempDir::new().expect("a folder");
    let (server, address) = server(&folder);
    let counts = || server.state().figures().connections;
    let (mut reset, mut kept) = (connect(&address), connect(&address));
    reset.write_all(b"a:1|c\na:2|c").expect("it is open");
    wait_until(|| server.state().figures().totals.lines == 1);
    // Closing without lingering is a reset.
    socket2::SockRef::from(&reset).set_linger(Some(std::time::Duration::ZERO)).expect("a socket");
    drop(reset);
    wait_until(|| counts().open == 1);
    kept.write_all(b"b:4|c\n").expect("it is open");
    close(kept);
    assert_eq!((counts().displaced, counts().endless), (0, 0));
    let flush = end(server);
    assert_eq!((sum(&flush, "a"), sum(&flush, "b")), (3.0, 4.0));
}
