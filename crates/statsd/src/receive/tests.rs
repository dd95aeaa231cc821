//! That all that is sent is counted, over every kind of input, and that files of sockets come and
//! go with their server.

mod streams;

use std::io;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tempfile::TempDir;

use super::remove_stale;
use crate::config::{self, Config};
use crate::error::StatsdError;
use crate::flush::Flush;
use crate::plan::{BackendPlan, InputPlan, Plan};
use crate::server::StatsdServer;

/// A plan with these inputs, which flushes at its end.
fn plan(folder: &Path, listen: &[String], receivers: usize) -> Plan {
    let config: Config = serde_json::from_value(json!({
        "listen": listen, "management": "off", "snapshot": "off", "flush": "1h",
        "receivers": receivers,
    }))
    .expect("the shape fits");
    config::plan(&config, folder, &mut |key, reason| panic!("{key}: {reason}"))
}

/// Ends a server; returns what it had counted.
fn end(server: StatsdServer) -> Arc<Flush> {
    let state = Arc::clone(server.state());
    server.end();
    state.last_flush().expect("it flushes at its end")
}

fn sum(flush: &Flush, name: &str) -> f64 {
    flush.counters.iter().filter(|(counter, _)| &**counter == name).map(|(_, sum)| sum).sum()
}

#[test]
fn datagrams_that_were_sent_before_the_end_are_counted_whichever_socket_took_them() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("d");
    let udp = format!("udp:127.0.0.1:{}", testkit::free_port());
    let listen = [udp.clone(), format!("unixgram:{}", path.display())];
    let server = StatsdServer::start(plan(folder.path(), &listen, 3), None).expect("it starts");
    let sockets = server.state().sockets();
    let addresses: Vec<&str> = sockets.iter().map(|socket| socket.address.as_str()).collect();
    assert_eq!(addresses, [&udp, &udp, &udp, &listen[1]]);
    for _ in 0..20 {
        // Another port each time, so that every socket gets some.
        let sender = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        sender.send_to(b"udp:1|c\nudp:2|c", &udp[4..]).expect("it is sent");
    }
    let sender = UnixDatagram::unbound().expect("a socket");
    for _ in 0..20 {
        sender.send_to(b"unix:1|c\nbad", &path).expect("it is sent");
    }
    let flush = end(server);
    assert_eq!((sum(&flush, "udp"), sum(&flush, "unix")), (60.0, 20.0));
    assert_eq!(sum(&flush, "statsd.packets_received"), 40.0);
    assert_eq!(sum(&flush, "statsd.metrics_received"), 80.0);
    assert_eq!(sum(&flush, "statsd.bad_lines_seen"), 20.0);
    assert!(!path.exists(), "the file goes with the server");
}

#[test]
fn a_port_that_is_taken_is_an_error_of_the_start_also_where_it_could_be_shared() {
    let folder = TempDir::new().expect("a folder");
    let first = StatsdServer::start(plan(folder.path(), &["udp:127.0.0.1:0".into()], 2), None)
        .expect("it starts");
    let sockets = first.state().sockets();
    assert_eq!(sockets[0].address, sockets[1].address, "both share one port");
    let taken = sockets[0].address.clone();
    for receivers in [1, 2] {
        let plan = plan(folder.path(), &["udp:127.0.0.1:0".into(), taken.clone()], receivers);
        let error = StatsdServer::start(plan, None).expect_err("it is taken");
        let StatsdError::Bind { what, source } = error else { panic!("{error}") };
        assert_eq!((what, source.kind()), (taken.clone(), io::ErrorKind::AddrInUse));
    }
    first.end();
}

#[test]
fn a_socket_that_a_killed_process_left_is_taken_over_and_nothing_else() {
    let folder = TempDir::new().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    for kind in ["unix", "unixgram"] {
        let start = |name: &str| {
            let listen = [format!("{kind}:{}", at(name).display())];
            StatsdServer::start(plan(folder.path(), &listen, 1), None)
        };
        drop(UnixListener::bind(at("stale")).expect("a socket"));
        start("stale").expect("nobody listens there").end();
        assert!(!at("stale").exists());
        let (listener, datagrams) = (
            UnixListener::bind(at("stream")).expect("a socket"),
            UnixDatagram::bind(at("datagrams")).expect("a socket"),
        );
        std::fs::write(at("file"), "of somebody").expect("a file");
        for name in ["stream", "datagrams", "file"] {
            let error = start(name).expect_err("it is taken").to_string();
            assert_eq!(error, format!("listen on `{kind}:{}`", at(name).display()));
            assert!(at(name).exists(), "{kind} {name}");
        }
        drop((listener, datagrams));
        ["stream", "datagrams", "file"].iter().for_each(|name| {
            std::fs::remove_file(at(name)).expect("it is still there");
        });
    }
}

#[test]
fn only_a_socket_that_nobody_answers_at_is_stale() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("s");
    let refused = |_: &Path| Err(io::ErrorKind::ConnectionRefused.into());
    let denied = |_: &Path| Err(io::ErrorKind::PermissionDenied.into());
    std::fs::write(&path, "of somebody").expect("a file");
    remove_stale(&path, refused);
    assert!(path.exists(), "it is no socket");
    std::fs::remove_file(&path).expect("a file");
    drop(UnixListener::bind(&path).expect("a socket"));
    remove_stale(&path, denied);
    remove_stale(&path, |_| Ok(()));
    assert!(path.exists(), "somebody may listen");
    remove_stale(&path, refused);
    assert!(!path.exists());
}

#[test]
fn files_of_sockets_have_the_mode_of_the_plan() {
    let folder = TempDir::new().expect("a folder");
    let (streams, datagrams) = (folder.path().join("s"), folder.path().join("d"));
    let inputs = vec![
        InputPlan::Unix(streams.clone(), Some(0o640)),
        InputPlan::UnixDatagram(datagrams.clone(), Some(0o602)),
    ];
    let plan = Plan { inputs, ..plan(folder.path(), &["udp:127.0.0.1:0".into()], 1) };
    let server = StatsdServer::start(plan, None).expect("it starts");
    let mode =
        |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&streams), mode(&datagrams)), (0o640, 0o602));
    server.end();
    assert!(!streams.exists() && !datagrams.exists());
}

#[test]
fn what_waits_in_a_unix_stream_at_the_end_is_counted() {
    use std::io::Write as _;
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("s");
    let listen = [format!("unix:{}", path.display())];
    let server = StatsdServer::start(plan(folder.path(), &listen, 1), None).expect("it starts");
    let mut streams = [(); 3].map(|()| UnixStream::connect(&path).expect("it listens"));
    for stream in &mut streams {
        stream.write_all(b"a:1|c\na:2|c\na:4|c").expect("it is open");
    }
    assert_eq!(sum(&end(server), "a"), 21.0, "also lines that do not end");
}

#[test]
fn a_server_repeats_what_it_receives_and_counts_what_it_could_not() {
    let folder = TempDir::new().expect("a folder");
    let (other, away) = (UdpSocket::bind("127.0.0.1:0").expect("a socket"), testkit::free_port());
    other.set_read_timeout(Some(std::time::Duration::from_secs(20))).expect("a socket");
    let backends = vec![
        BackendPlan::Repeater {
            to: vec![other.local_addr().expect("an address").to_string()],
            is_tcp: false,
        },
        BackendPlan::Repeater { to: vec![format!("127.0.0.1:{away}")], is_tcp: true },
    ];
    let path = folder.path().join("d");
    let listen = [format!("unixgram:{}", path.display())];
    let plan = Plan { backends, ..plan(folder.path(), &listen, 1) };
    let server = StatsdServer::start(plan, None).expect("it starts");
    let sender = UnixDatagram::unbound().expect("a socket");
    for datagram in ["a:1|c\nb:2|c", "a:3|c"] {
        sender.send_to(datagram.as_bytes(), &path).expect("it is sent");
        let mut buffer = [0; 100];
        let length = other.recv(&mut buffer).expect("it is repeated");
        assert_eq!(&buffer[..length], datagram.as_bytes());
    }
    let state = Arc::clone(server.state());
    server.end();
    let figures = state.figures();
    assert_eq!((figures.repeated_failed, figures.repeated_dropped), (2, 0));
}
