//! Claims about connections to an upstream: what is sent, when one is kept, and responses that come
//! early, in pieces, or too long.

use std::io::{Read, Write};

use testkit::{Client, Origin, OriginReply};

use super::raw::{Line, RawOrigin, say, values};
use super::{Served, before, route_to, route_to_addresses, serve};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Bytes of a body that the buffers of both sockets cannot hold.
const LONG: usize = 24 << 20;

fn before_raw(origin: &RawOrigin, upstream: &str) -> Served {
    serve(&route_to_addresses(&[origin.address], upstream, "body_bytes_max = \"64MB\""))
}

fn swallow(head: &str, line: &mut Line) -> usize {
    let length = values(head, "content-length")[0].parse().unwrap();
    std::io::copy(&mut line.take(length), &mut std::io::sink()).unwrap() as usize
}

#[test]
fn a_connection_that_nobody_uses_is_closed_in_time() {
    let origin = RawOrigin::start(|_, line| {
        say(line, OK);
        true
    });
    let served = before_raw(&origin, "idle_timeout = \"50ms\"");
    for count in 1..3 {
        assert_eq!(served.get("/").text(), "ok");
        // The gateway closes the connection; this origin would keep it for ever.
        origin.wait_for_ends(count);
        assert_eq!(origin.connections(), count);
    }
}

#[test]
fn a_kept_connection_that_ends_is_replaced_before_it_is_used() {
    let origin = RawOrigin::start(|_, line| {
        say(line, OK);
        false
    });
    let served = before_raw(&origin, "");
    for count in 1..4 {
        let reply = Client::call(served.address, "GET", "/").send();
        assert_eq!((reply.status, reply.text()), (200, "ok"));
        origin.wait_for_ends(count);
    }
    assert_eq!(origin.asked().len(), 3, "asked once each");
}

#[test]
fn a_server_that_closes_what_it_has_just_used_gets_each_post_on_a_new_connection() {
    let origin = RawOrigin::start(|head, line| {
        say(line, OK);
        !head.starts_with("GET /hasty")
    });
    let served = before_raw(&origin, "");
    let post = || Client::call(served.address, "POST", "/").send().status;
    assert_eq!((post(), post(), origin.connections()), (200, 200, 1));
    served.get("/hasty");
    origin.wait_for_ends(1);
    // A request that can be repeated finds out, whether the end is seen before it or by it.
    assert_eq!((served.get("/").status, origin.connections()), (200, 2));
    assert_eq!((post(), post(), origin.connections()), (200, 200, 4));
    assert_eq!((served.get("/").status, origin.connections()), (200, 4));
}

#[test]
fn an_answer_byte_by_byte_is_the_same_answer() {
    let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let chunks = "1;a=b\r\no\r\n1\r\nk\r\n0\r\nX: y\r\n\r\n";
    let chunked = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
    for answer in [OK.to_owned(), format!("{interim}{OK}"), chunked] {
        let origin = RawOrigin::start(move |_, line| {
            line.get_ref().set_nodelay(true).unwrap();
            answer.bytes().for_each(|byte| say(line, [byte]));
            true
        });
        let served = before_raw(&origin, "");
        for _ in 0..2 {
            assert_eq!(served.get("/").text(), "ok");
        }
        assert_eq!(origin.connections(), 1);
    }
}

#[test]
fn an_answer_that_comes_before_the_request_is_sent_is_heard_and_its_connection_ends() {
    let origin = RawOrigin::start(|head, line| {
        let is_long = head.starts_with("POST");
        say(line, if is_long { OK.replace("200 OK", "413 No") } else { OK.to_owned() });
        !is_long
    });
    let served = before_raw(&origin, "");
    for round in 1..3 {
        let reply = Client::post(served.address, "/", vec![b'x'; LONG]).send();
        assert_eq!((reply.status, reply.text()), (413, "ok"));
        assert_eq!(served.get("/").text(), "ok");
        assert!(origin.connections() > round, "the connection is not used again");
        assert!(!origin.asked().iter().any(|asked| asked.contains("xx")), "the rest is no request");
    }
}

#[test]
fn the_request_goes_on_while_its_answer_has_begun() {
    let origin = RawOrigin::start(|head, line| {
        say(line, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n");
        let length = swallow(head, line);
        say(line, format!("{length:08}"));
        true
    });
    let served = before_raw(&origin, "");
    let reply = Client::post(served.address, "/", vec![b'x'; LONG]).send();
    assert_eq!(reply.text(), format!("{LONG:08}"));
}

#[test]
fn a_head_is_bounded_by_its_bytes() {
    let head = |bytes: usize| {
        let line = format!("X-Long: {}\r\n", "y".repeat(1990));
        let lines = line.repeat(bytes / line.len());
        OriginReply::ok("").raw(OK.replace("Content", &format!("{lines}Content")))
    };
    let origin = Origin::start(move |request| match request.path() {
        "/fits" => head(60_000),
        _ => head(70_000),
    });
    for route in ["", "cache = { ttl = \"60s\" }"] {
        let served = before(&origin, route);
        assert_eq!((served.get("/fits").text(), served.get("/long").status), ("ok", 502));
    }
}

#[test]
fn a_long_answer_arrives_whole_and_leaves_its_connection_usable() {
    let body: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    let own = body.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/chunked" => OriginReply::ok(own.clone()).chunked(70_001),
        _ => OriginReply::ok(own.clone()),
    });
    for route in ["", "cache = { ttl = \"60s\" }"] {
        let served = serve(&route_to(&[&origin], "", route));
        for target in ["/", "/chunked", "/a"] {
            assert!(served.get(target).body == body, "{target} on `{route}`");
        }
    }
    assert_eq!(origin.connections(), 2);
}

#[test]
fn what_is_sent_is_the_clients_fields_and_ours_once() {
    let origin = RawOrigin::start(|head, line| {
        swallow(&head.replace("\r\n\r\n", "\r\ncontent-length: 0\r\n\r\n"), line);
        say(line, OK);
        true
    });
    let served = before_raw(&origin, "");
    let mut client = super::raw::connect(
        served.address,
        "POST /a?b HTTP/1.1\r\nHost: H\r\nX-Two: 1\r\nx-two: 2\r\nX-Forwarded-For: 10.0.0.1\r\n\
         X-Request-Id: evil\r\nX-Forwarded-For: 10.0.0.2\r\nTE: trailers\r\nX-Mine: 1\r\n\
         Tidegate-Decision: evil\r\nConnection: close, x-mine\r\nContent-Length: 0\r\n\r\n",
    );
    client.get_mut().flush().unwrap();
    super::raw::rest(&mut client);
    let head = origin.heads().remove(0);
    assert!(
        head.starts_with("POST /a?b HTTP/1.1\r\nhost: H\r\nx-two: 1\r\nx-two: 2\r\n"),
        "{head}"
    );
    assert_eq!(values(&head, "x-forwarded-for"), ["127.0.0.1"]);
    assert_eq!(values(&head, "content-length"), ["0"]);
    assert_eq!(values(&head, "tidegate-decision"), ["generic"]);
    let id = values(&head, "x-request-id");
    assert_eq!(id, [format!("{:032x}", served.journal.wait_for(1)[0].id)]);
    for gone in ["te", "x-mine", "connection", "transfer-encoding"] {
        assert!(values(&head, gone).is_empty(), "{head}");
    }
}
