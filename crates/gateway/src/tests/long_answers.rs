//! Claims about answers that take long to come, or never end, on routes that store.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use super::raw::{RawOrigin, bytes, connect, head, say};
use super::{route_to_addresses, serve};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_stream_of_events_is_not_held_back_to_be_stored() {
    let (go_on, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let origin = RawOrigin::start(move |_, line| {
        say(line, "HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; x=y\r\n\r\ndata: 1\n\n");
        // The second event comes when the client has the first.
        let _ = wait.lock().unwrap().recv();
        say(line, "data: 2\n\n");
        false
    });
    let route = "cache = { ttl = \"60s\" }";
    let served = serve(&route_to_addresses(&[origin.address], "piece_timeout = \"1ms\"", route));
    let mut client = connect(served.address, GET);
    assert!(head(&mut client).iter().any(|line| line == "transfer-encoding: chunked"));
    assert_eq!(bytes(&mut client, 12), b"9\r\ndata: 1\n\n");
    go_on.send(()).unwrap();
    assert_eq!(bytes(&mut client, 16), b"\r\n9\r\ndata: 2\n\n\r\n");
}

#[test]
fn an_answer_that_would_outlast_the_lease_passes_on_as_it_arrives() {
    let (end, wait) = channel::<()>();
    let wait = Mutex::new(wait);
    let origin = RawOrigin::start(move |_, line| {
        say(line, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n");
        // A piece now and then, until the client has the first of them.
        while wait.lock().unwrap().recv_timeout(Duration::from_millis(10)).is_err() {
            say(line, "x");
        }
        say(line, "end");
        false
    });
    let route = "cache = {}\nlease = \"500ms\"";
    let served = serve(&route_to_addresses(&[origin.address], "", route));
    let mut client = connect(served.address, GET);
    assert_eq!(head(&mut client)[0], "HTTP/1.1 200 OK");
    end.send(()).unwrap();
    let mut body = Vec::new();
    while !body.ends_with(b"end\r\n0\r\n\r\n") {
        body.extend(bytes(&mut client, 1));
    }
}
