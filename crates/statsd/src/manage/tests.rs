//! Who gets through to the management port, and what the others are told.

mod lines;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;

use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::legacy;
use crate::management_connections::{CONNECTIONS_MAX, ManagementConnections};
use crate::server::StatsdServer;

/// A server with a management port.
fn server(folder: &Path) -> (StatsdServer, SocketAddr) {
    server_with(folder, None)
}

/// The same, with so many receivers.
fn server_with(folder: &Path, receivers: Option<usize>) -> (StatsdServer, SocketAddr) {
    let management = SocketAddr::from(([127, 0, 0, 1], testkit::free_port()));
    let config = Config {
        listen: Some(vec!["udp:127.0.0.1:0".to_owned()]),
        management: Some(management.to_string()),
        flush: Some("1h".to_owned()),
        receivers,
        ..Config::default()
    };
    let plan = config::plan(&config, folder, &mut |key, reason| panic!("{key}: {reason}"));
    (StatsdServer::start(plan, None).expect("it starts"), management)
}

/// A server of another flavour, whose file has this text behind its addresses.
fn legacy_server(flavour: Flavour, more: &str) -> (StatsdServer, SocketAddr) {
    let management = SocketAddr::from(([127, 0, 0, 1], testkit::free_port()));
    let text = format!(
        "{{ address: '127.0.0.1', port: 0, mgmt_address: '127.0.0.1', mgmt_port: {}, {more} }}",
        management.port()
    );
    let plan = legacy::read(&text, flavour).expect("the file can be used");
    (StatsdServer::start(plan, None).expect("it starts"), management)
}

/// Everything that is answered to a command.
fn ask(management: SocketAddr, command: &str) -> String {
    let mut stream = TcpStream::connect(management).expect("it listens");
    stream.write_all(format!("{command}\n").as_bytes()).expect("it is open");
    stream.shutdown(Shutdown::Write).expect("it is open");
    rest(&stream)
}

/// Says a command on a connection that stays open; returns the first line of the answer.
fn say(mut stream: &TcpStream, command: &str) -> String {
    stream.write_all(format!("{command}\n").as_bytes()).expect("it is open");
    let mut line = Vec::new();
    let mut byte = [0];
    while stream.read(&mut byte).expect("it is open") == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).expect("text")
}

fn rest(mut stream: &TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it ends in order");
    text
}

#[test]
fn idle_connections_keep_nobody_out_and_those_that_make_room_are_told() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let (server, management) = server(folder.path());
    let mut idle: Vec<TcpStream> = Vec::new();
    for at in 0..200 {
        let stream = TcpStream::connect(management).expect("it listens");
        assert_eq!(say(&stream, "health"), "health: up", "the connection {at}");
        idle.push(stream);
    }
    // They were told before the last one was let in.
    let is_closed = |stream: &&TcpStream| {
        stream.set_nonblocking(true).expect("a socket");
        let is_told = stream.peek(&mut [0]).is_ok();
        stream.set_nonblocking(false).expect("a socket");
        is_told
    };
    let (closed, open): (Vec<_>, Vec<_>) = idle.iter().partition(is_closed);
    assert_eq!((closed.len(), open.len()), (200 - CONNECTIONS_MAX, CONNECTIONS_MAX));
    closed.into_iter().for_each(|stream| assert_eq!(rest(stream), "ERROR: too many connections\n"));
    open.into_iter().for_each(|stream| assert_eq!(say(stream, "health"), "health: up"));
    assert_eq!(server.state().management.displaced(), 200 - CONNECTIONS_MAX as u64);
    server.end();
}

#[test]
fn the_one_that_is_idle_longest_makes_room_and_none_that_is_being_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let clients = RefCell::new(Vec::new());
    let pair = || {
        clients.borrow_mut().push(TcpStream::connect(address).expect("it listens"));
        listener.accept().expect("a connection").0
    };
    let all = ManagementConnections::default();
    let admitted: Vec<_> = (0..CONNECTIONS_MAX).map(|_| all.admit(pair())).collect();
    admitted[0].note(true);
    admitted[1].note(true);
    admitted[1].note(false);
    admitted[2].note(true);
    for _ in 3..CONNECTIONS_MAX {
        all.admit(pair());
    }
    assert_eq!(all.displaced(), CONNECTIONS_MAX as u64 - 3);
    clients.borrow()[3..CONNECTIONS_MAX].iter().for_each(|client| {
        assert_eq!(rest(client), "ERROR: too many connections\n");
    });
    all.admit(pair());
    assert_eq!(rest(&clients.borrow()[1]), "ERROR: too many connections\n");
}

#[test]
fn connections_that_end_give_their_room_back() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let (server, management) = server(folder.path());
    let kept = TcpStream::connect(management).expect("it listens");
    for _ in 0..3 * CONNECTIONS_MAX {
        let stream = TcpStream::connect(management).expect("it listens");
        assert_eq!(say(&stream, "health"), "health: up");
        stream.shutdown(Shutdown::Write).expect("it is open");
        // Closed by the last who holds it, so it has left by then.
        assert_eq!(rest(&stream), "");
    }
    assert_eq!(say(&kept, "health"), "health: up");
    assert_eq!(server.state().management.displaced(), 0);
    server.end();
}

#[test]
fn stats_of_a_backend_that_never_failed_count_from_its_start() {
    let graphite = format!("graphiteHost: '127.0.0.1', graphitePort: {}", testkit::free_port());
    let (server, management) = legacy_server(Flavour::Statsd, &graphite);
    let stats = ask(management, "stats");
    let age = stats.lines().find_map(|line| line.strip_prefix("graphite.last_exception: "));
    let age: u64 = age.and_then(|age| age.parse().ok()).expect("it is shown");
    let uptime = server.state().uptime().as_secs();
    assert!(age <= uptime + 1, "{age} seconds ago, and up for {uptime}");
    server.end();
}

#[test]
fn no_two_lines_of_stats_have_one_key_however_many_receivers_there_are() {
    let folder = tempfile::TempDir::new().expect("a folder");
    let (server, management) = server_with(folder.path(), Some(2));
    let stats = ask(management, "stats");
    let keys: Vec<&str> =
        stats.lines().filter_map(|line| line.split_once(": ")).map(|l| l.0).collect();
    let distinct: BTreeSet<&str> = keys.iter().copied().collect();
    assert_eq!(keys.len(), distinct.len(), "{stats}");
    let address = &server.state().sockets()[0].address;
    for at in 0..2 {
        let key = format!("statsd.sockets.{address}.{at}.dropped_by_kernel");
        assert!(distinct.contains(&*key), "no {key} in {stats}");
    }
    server.end();
}

#[test]
fn help_names_what_each_flavour_answers_and_nothing_else() {
    const ALL: [&str; 14] = [
        "stats",
        "counters",
        "timers",
        "gauges",
        "sets",
        "delcounters",
        "deltimers",
        "delgauges",
        "delsets",
        "health",
        "config",
        "last [PART]",
        "top [N]",
        "quit",
    ];
    let folder = tempfile::TempDir::new().expect("a folder");
    let servers = [
        server(folder.path()),
        legacy_server(Flavour::Statsd, "backends: []"),
        legacy_server(Flavour::Perl, "backends: []"),
    ];
    for (server, management) in servers {
        let flavour = server.state().plan().flavour;
        let help = ask(management, "help");
        let named = help.trim_end().strip_prefix("Commands: ").expect("a list");
        let named: BTreeSet<&str> = named.split(", ").collect();
        for command in ALL {
            let word = command.split(' ').next().expect("a word");
            let is_there = ask(management, word) != "ERROR\n";
            assert_eq!(is_there, named.contains(command), "{flavour:?}, {command}: {help}");
        }
        assert!(named.iter().all(|name| ALL.contains(name)), "{flavour:?}: {help}");
        assert!(named.contains("last [PART]") && named.contains("top [N]"), "{flavour:?}: {help}");
        server.end();
    }
}
