//! What counts as a command, and who may give one.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};

use super::{ask, legacy_server, rest, say};
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::manage::LINE_BYTES_MAX;
use crate::server::StatsdServer;

#[test]
fn what_comes_without_a_line_feed_is_a_command_but_not_in_perl() {
    let (server, management) = legacy_server(Flavour::Statsd, "backends: []");
    let mut stream = TcpStream::connect(management).expect("it listens");
    stream.write_all(b"health").expect("it is open");
    let mut answer = [0; 11];
    stream.read_exact(&mut answer).expect("it is answered");
    assert_eq!(&answer, b"health: up\n");
    stream.write_all(b"health up\r\nhealth down\n").expect("it is open");
    stream.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(rest(&stream), "health: up\nhealth: down\n");
    server.end();
    let (server, management) = legacy_server(Flavour::Perl, "backends: []");
    let mut stream = TcpStream::connect(management).expect("it listens");
    stream.write_all(b"gau").expect("it is open");
    stream.write_all(b"ges\n").expect("it is open");
    stream.write_all(b"gauges").expect("it is open");
    stream.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(rest(&stream), "{}\nEND\n\n", "the second one has no end");
    server.end();
}

#[test]
fn quit_ends_the_connection_and_what_stands_behind_it_counts_no_more() {
    let (server, management) = legacy_server(Flavour::Statsd, "backends: []");
    assert_eq!(ask(management, "health\nquit\nhealth down"), "health: up\n");
    assert_eq!(ask(management, "health"), "health: up\n");
    server.end();
}

#[test]
fn a_line_of_perl_that_does_not_end_is_waited_for_up_to_a_bound() {
    let (server, management) = legacy_server(Flavour::Perl, "backends: []");
    let longest = "x".repeat(LINE_BYTES_MAX);
    let stream = TcpStream::connect(management).expect("it listens");
    assert_eq!(say(&stream, &longest), "ERROR");
    let mut stream = TcpStream::connect(management).expect("it listens");
    stream.write_all(longest.as_bytes()).expect("it is open");
    stream.write_all(b"x").expect("it is open");
    assert_eq!(rest(&stream), "", "it is closed");
    server.end();
}

#[test]
fn only_allowed_networks_are_answered() {
    for (allow, is_answered) in [
        (vec![], true),
        (vec!["127.0.0.0/8"], true),
        (vec!["10.0.0.0/8", "127.0.0.1"], true),
        (vec!["10.0.0.0/8"], false),
    ] {
        let management = SocketAddr::from(([127, 0, 0, 1], testkit::free_port()));
        let config = Config {
            listen: Some(vec!["tcp:127.0.0.1:0".to_owned()]),
            management: Some(management.to_string()),
            management_allow: allow.iter().map(|&network| network.to_owned()).collect(),
            snapshot: Some("off".to_owned()),
            ..Config::default()
        };
        let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
        let plan = config::plan(&config, std::path::Path::new("/nowhere"), wrong);
        let server = StatsdServer::start(plan, None).expect("it starts");
        let mut stream = TcpStream::connect(management).expect("it listens");
        // Whoever is closed at once may find that when writing.
        let _ = stream.write_all(b"health\n").and_then(|()| stream.shutdown(Shutdown::Write));
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        assert_eq!(text == "health: up\n", is_answered, "{allow:?}: {text}");
        server.end();
    }
}
