//! Claims about what clients hold: bodies, unread responses, tunnels, reads past the cache.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use socket2::{Domain, Socket, Type};
use testkit::{Client, FIXTURE_TIMEOUT, Gate, Origin, OriginReply};

use super::raw::{Line, RawOrigin, bytes, connect, connect_as, head, rest, say, values};
use super::{Served, assert_hit, cache_status, eventually, route_to, route_to_addresses};
use super::{check, serve};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn post(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n")
}

fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n % 251) as u8).collect()
}

fn wait_for_bytes(served: &Served, holds: impl Fn(usize) -> bool) {
    eventually("bytes in flight", || holds(served.gateway.clients.budget().bytes()));
}

#[test]
fn bodies_that_never_come_keep_no_place_from_others() {
    let origin = Origin::start(|_| OriginReply::ok("ok"));
    let served = serve(&(route_to(&[&origin], "", "") + "[limits]\npending_max = 1\n"));
    let slow: Vec<_> = (0..50).map(|_| connect(served.address, post(10) + "abc")).collect();
    wait_for_bytes(&served, |bytes| bytes >= 50 * 32_000);
    assert_eq!(served.get("/").text(), "ok");
    drop(slow);
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn a_long_body_is_passed_on_as_it_arrives() {
    let origin = RawOrigin::start(|head, line| {
        let length = values(head, "content-length")[0].parse().unwrap();
        // The first part is here before the client has sent the last.
        let first = bytes(line, 2_000_000);
        say(line, "HTTP/1.1 103 Early Hints\r\nx-first: 1\r\n\r\n");
        let body = [first, bytes(line, length - 2_000_000)].concat();
        let same = body == pattern(length);
        say(line, OK.replace("ok", if same { "ok" } else { "no" }));
        true
    });
    let served = serve(&route_to_addresses(&[origin.address], "", ""));
    let body = pattern(5_000_000);
    let mut client = connect(served.address, post(body.len()));
    client.get_mut().write_all(&body[..3_000_000]).unwrap();
    assert_eq!(head(&mut client)[0], "HTTP/1.1 103 Early Hints");
    assert!(served.gateway.clients.budget().bytes() < 1_500_000);
    client.get_mut().write_all(&body[3_000_000..]).unwrap();
    assert_eq!(head(&mut client)[0], "HTTP/1.1 200 OK");
    assert_eq!(bytes(&mut client, 2), b"ok");
    // The client's connection is good for the next request.
    client.get_mut().write_all(post(0).as_bytes()).unwrap();
    drop(client);
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn a_client_that_breaks_off_its_body_ends_the_request_at_the_upstream() {
    let origin = RawOrigin::start(|_, line| {
        let mut body = Vec::new();
        // The gateway closes the connection instead of a shorter body.
        let _ = line.read_to_end(&mut body);
        false
    });
    let served = serve(&route_to_addresses(&[origin.address], "", ""));
    let mut client = connect(served.address, post(5_000_000));
    client.get_mut().write_all(&pattern(2_000_000)).unwrap();
    eventually("the upload", || !origin.heads().is_empty());
    client.get_ref().shutdown(Shutdown::Write).unwrap();
    assert!(rest(&mut client).starts_with("HTTP/1.1 400 "));
    origin.wait_for_ends(1);
    assert_eq!(served.registry.sum("tidegate_fetch_failures_total", &[]), 0);
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn a_server_that_answers_while_it_reads_gets_the_whole_upload() {
    // It sends back what it gets, so it waits for both sides.
    let origin = RawOrigin::start(|head, line| {
        let length: usize = values(head, "content-length")[0].parse().unwrap();
        say(line, format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n"));
        let mut left = length;
        while left > 0 {
            let piece = bytes(line, left.min(50_000));
            say(line, &piece);
            left -= piece.len();
        }
        true
    });
    let served = serve(&route_to_addresses(&[origin.address], "", ""));
    let body = pattern(7_000_000);
    let reply = Client::post(served.address, "/", body.clone()).send();
    assert!(reply.body == body);
}

#[test]
fn an_early_answer_changes_nothing_in_the_order_of_an_upload() {
    const LENGTH: usize = 6_000_000;
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // The first mebibyte does not fit into one write.
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(1).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    let origin = std::thread::spawn(move || {
        let mut line = Line::new(listener.accept().unwrap().0);
        head(&mut line);
        say(&mut line, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
        // It reads in small steps at first, while its answer is on its way.
        let mut body: Vec<u8> = (0..2000).flat_map(|_| bytes(&mut line, 100)).collect();
        body.extend(bytes(&mut line, LENGTH - body.len()));
        say(&mut line, "ok");
        body
    });
    let served = serve(&route_to_addresses(&[address], "", ""));
    let reply = Client::post(served.address, "/", pattern(LENGTH)).send();
    assert_eq!(reply.text(), "ok");
    assert!(origin.join().unwrap() == pattern(LENGTH));
}

#[test]
fn an_upload_that_the_upstream_had_accepted_counts_as_successful_when_it_breaks_off() {
    let origin = RawOrigin::start(|head, line| {
        if head.starts_with("PUT") {
            let hints = "HTTP/1.1 103 Early Hints\r\nx-a: 1\r\n\r\n";
            say(line, format!("{hints}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"));
            let _ = line.read_to_end(&mut Vec::new());
            return false;
        }
        say(line, OK);
        true
    });
    let route = "cache = { ttl = \"60s\" }";
    let served = serve(&route_to_addresses(&[origin.address], "", route));
    let get = || served.get_with("/", &[("host", "a")]);
    get();
    assert_hit(&get());
    let mut client = connect(served.address, post(5_000_000).replace("POST", "PUT"));
    client.get_mut().write_all(&pattern(1_200_000)).unwrap();
    // Whoever has passed this on has seen what came with it.
    assert_eq!(head(&mut client)[0], "HTTP/1.1 103 Early Hints");
    client.get_ref().shutdown(Shutdown::Write).unwrap();
    rest(&mut client);
    eventually("the invalidation", || cache_status(&get()).contains("fwd="));
}

#[test]
fn slow_uploads_do_not_count_as_pending() {
    let origin = RawOrigin::start(|head, line| {
        if head.starts_with("POST") {
            let _ = line.read_to_end(&mut Vec::new());
            return false;
        }
        say(line, OK);
        true
    });
    let text = route_to_addresses(&[origin.address], "", "");
    let served = serve(&(text + "[limits]\npending_max = 1\n"));
    let mut slow = connect(served.address, post(5_000_000));
    slow.get_mut().write_all(&pattern(1_500_000)).unwrap();
    eventually("the upload", || !origin.heads().is_empty());
    assert_eq!(served.get("/").text(), "ok");
}

#[test]
fn what_one_client_does_not_read_or_send_on_leaves_budget_to_others() {
    let body = pattern(250_000);
    let origin = Origin::start(move |request| match request.method.as_str() {
        "POST" => OriginReply::ok("ok"),
        _ => OriginReply::ok(body.clone()),
    });
    let limits = "[limits]\ninflight_bytes = \"1MB\"\nclient_share = \"20%\"\n";
    let served = serve(&(route_to(&[&origin], "", "cache = { ttl = \"60s\" }") + limits));
    let _parts: Vec<_> = (0..40).map(|_| connect(served.address, "GET / HT")).collect();
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let _unread: Vec<_> = (0..40).map(|_| connect_narrowly(served.address, get)).collect();
    wait_for_bytes(&served, |bytes| bytes > 100_000);
    let mut other = connect_as([127, 0, 0, 2], served.address, post(300) + &"x".repeat(300));
    assert_eq!(head(&mut other)[0], "HTTP/1.1 200 OK");
    assert!(served.gateway.clients.budget().bytes() <= 400_000);
}

#[test]
fn a_length_that_is_only_announced_takes_no_memory() {
    let origin = Origin::start(|_| OriginReply::ok("ok"));
    let served = serve(&route_to(&[&origin], "", ""));
    let resident = || -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096
    };
    let before = resident();
    let held: Vec<_> = (0..200).map(|_| connect(served.address, post(1 << 20) + "q")).collect();
    wait_for_bytes(&served, |bytes| bytes >= 200 * 32_000);
    let grown = resident().saturating_sub(before);
    assert!(grown < 100_000_000, "{grown} bytes for 200 announced ones");
    drop(held);
}

#[test]
fn bodies_beyond_the_budget_are_refused_and_the_budget_is_given_back() {
    let gate = Gate::default();
    let held = gate.clone();
    let origin = Origin::start(move |_| OriginReply::ok("ok").after(&held));
    let limits = "[limits]\ninflight_bytes = \"1MB\"\nclient_share = \"100%\"\n";
    let served = serve(&(route_to(&[&origin], "", "") + limits));
    let call = Client::post(served.address, "/", vec![b'x'; 900_000]);
    let first = std::thread::spawn(move || call.send());
    origin.wait_for("/", 1);
    let refused = Client::post(served.address, "/", vec![b'x'; 200_000]).send();
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(served.registry.sum("tidegate_inflight_refusals_total", &[]) > 0);
    gate.open();
    assert_eq!(first.join().unwrap().text(), "ok");
    wait_for_bytes(&served, |bytes| bytes == 0);
    assert_eq!(Client::post(served.address, "/", vec![b'x'; 900_000]).send().text(), "ok");
}

#[test]
fn a_body_that_never_fits_is_too_long_and_not_a_matter_of_trying_again() {
    let origin = Origin::start(|_| OriginReply::ok("ok"));
    let limits = "[limits]\ninflight_bytes = \"1MB\"\n";
    let served = serve(&(route_to(&[&origin], "", "") + limits));
    let chunk = format!("1000\r\n{}\r\n", "x".repeat(4096)).repeat(200) + "0\r\n\r\n";
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let refused = rest(&mut connect(served.address, head.to_owned() + &chunk));
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    assert!(refused.contains("`limits.inflight_bytes`"), "{refused}");
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn one_client_cannot_fill_the_budget() {
    let origin = Origin::start(|_| OriginReply::ok("ok"));
    let limits = "[limits]\ninflight_bytes = \"1MB\"\nclient_share = \"20%\"\n";
    let served = serve(&(route_to(&[&origin], "", "") + limits));
    let _held: Vec<_> = (0..20).map(|_| connect(served.address, post(10))).collect();
    let refused = |served: &Served| Client::post(served.address, "/", "x").send().status == 503;
    eventually("the share of this client", || refused(&served));
    assert!(served.gateway.clients.budget().bytes() <= 200_000);
    assert_eq!(served.get("/").text(), "ok", "what needs no budget goes on");
}

/// Connects with a small buffer for what is received, and sends bytes.
fn connect_narrowly(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Line {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(64 * 1024).unwrap();
    socket.connect(&address.into()).unwrap();
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(FIXTURE_TIMEOUT)).unwrap();
    stream.write_all(bytes.as_ref()).unwrap();
    Line::new(stream)
}

/// An origin that sends for ever, as something that may be stored.
fn endless() -> RawOrigin {
    RawOrigin::start(|_, line| {
        say(line, "HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n\r\n");
        let piece = vec![b'x'; 65_536];
        while line.get_mut().write_all(&piece).is_ok() {}
        false
    })
}

#[test]
fn endless_responses_that_nobody_reads_stay_within_the_budget() {
    let origin = endless();
    let route = "cache = { ttl = \"60s\", body_bytes_max = \"100MB\" }";
    let limits = "[limits]\ninflight_bytes = \"4MB\"\nclient_share = \"100%\"\n";
    let served = serve(&(route_to_addresses(&[origin.address], "", route) + limits));
    let ask = |n| connect_narrowly(served.address, format!("GET /{n} HTTP/1.1\r\nHost: a\r\n\r\n"));
    let mut clients: Vec<_> = (0..30).map(ask).collect();
    for client in &mut clients {
        assert_eq!(head(client)[0], "HTTP/1.1 200 OK");
    }
    // Each of them holds a piece beyond the budget at most, and what its socket did not take.
    let most = 4_000_000 + 30 * 2 * 262_144;
    assert!(served.gateway.clients.budget().bytes() <= most);
    drop(clients);
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn a_client_that_does_not_read_holds_no_connection_to_the_upstream() {
    let long = pattern(20_000_000);
    let body = long.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/long" => OriginReply::ok(body.clone()),
        _ => OriginReply::ok("ok"),
    });
    let limits = "[limits]\ninflight_bytes = \"400MB\"\n";
    let served = serve(&(route_to(&[&origin], "connections_max = 1", "") + limits));
    let mut idle = connect_narrowly(served.address, "GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    origin.wait_for("/long", 1);
    eventually("the connection is free", || served.get("/").text() == "ok");
    assert!(served.gateway.clients.budget().bytes() > 1_000_000);
    head(&mut idle);
    assert!(bytes(&mut idle, long.len()) == long);
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn uploads_leave_half_of_the_connections_to_others() {
    let origin = RawOrigin::start(|head, line| {
        if head.starts_with("POST") {
            let mut body = Vec::new();
            let _ = line.read_to_end(&mut body);
            return false;
        }
        say(line, OK);
        true
    });
    let text = route_to_addresses(&[origin.address], "connections_max = 4", "");
    let served = serve(&(text + "[limits]\nclient_share = \"100%\"\n"));
    let upload = || {
        let mut client = connect(served.address, post(5_000_000));
        client.get_mut().write_all(&pattern(1_500_000)).unwrap();
        client
    };
    let held: Vec<_> = (0..2).map(|_| upload()).collect();
    eventually("the uploads", || origin.heads().len() == 2);
    let mut refused = upload();
    assert!(head(&mut refused)[0].starts_with("HTTP/1.1 503 "));
    assert_eq!(served.get("/").text(), "ok");
    drop(held);
}

#[test]
fn what_clients_keep_out_of_the_cache_is_bounded_by_client() {
    let gate = Gate::default();
    let held = gate.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/held" => OriginReply::ok("ok").after(&held),
        _ => OriginReply::ok("ok"),
    });
    let limits = "[limits]\nbypass_per_client_max = 2\n";
    let served = serve(&(route_to(&[&origin], "", "cache = { ttl = \"60s\" }") + limits));
    let ways: [&[(&str, &str)]; 2] =
        [&[("authorization", "x")], &[("connection", "x-a"), ("x-a", "1")]];
    let asked = ways.map(|headers| served.ask("/held", headers));
    origin.wait_for("/held", 2);
    for headers in ways {
        let refused = served.get_with("/other", headers);
        assert_eq!(refused.status, 503, "{}", cache_status(&refused));
    }
    let body = Client::call(served.address, "GET", "/other").body("x").send();
    assert_eq!(body.status, 503);
    // Who does not keep out of the cache is not counted.
    assert_eq!(served.get("/other").status, 200);
    assert_hit(&served.get("/other"));
    assert_eq!(Client::post(served.address, "/other", "x").send().status, 200);
    gate.open();
    for asked in asked {
        assert_eq!(asked.join().unwrap().status, 200);
    }
    assert_eq!(served.get_with("/other", ways[0]).status, 200);
    assert_eq!(served.registry.sum("tidegate_client_refusals_total", &[]), 3);
}

#[test]
fn a_response_that_leaves_the_cache_is_charged_as_long_as_a_slow_client_needs_it() {
    const LENGTH: usize = 15_000_000;
    let body = pattern(LENGTH);
    let origin = Origin::start(move |_| OriginReply::ok(body.clone()));
    let route = "cache = { ttl = \"60s\", body_bytes_max = \"16MB\" }";
    let limits = "[limits]\ninflight_bytes = \"1GB\"\n";
    let served = serve(&(route_to(&[&origin], "", route) + limits));
    assert_eq!(served.get_with("/", &[("host", "a")]).status, 200);
    let mut idle = connect_narrowly(served.address, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let told = head(&mut idle);
    assert!(told.iter().any(|line| line.starts_with("cache-status: tidegate; hit")), "{told:?}");
    assert!(served.gateway.clients.budget().bytes() < 100_000, "the store accounts for it");
    let post = Client::post(served.address, "/", "x").header("host", "a").send();
    assert_eq!(post.status, 200);
    wait_for_bytes(&served, |bytes| bytes >= LENGTH);
    assert!(bytes(&mut idle, LENGTH) == pattern(LENGTH));
    wait_for_bytes(&served, |bytes| bytes == 0);
}

#[test]
fn the_budget_and_the_shares_are_checked() {
    for (key, error) in [
        ("inflight_bytes = \"10KB\"", "too small"),
        ("client_share = \"0%\"", "client_share"),
        ("inflight_bytes = \"1MB\"\nclient_share = \"5%\"", "less than 64 KB"),
        ("bypass_per_client_max = 0", "is 0"),
        ("head_timeout = \"0s\"", "head_timeout"),
        ("rate_min = \"many\"", "is not a byte size"),
    ] {
        let problems = check(&format!("[limits]\n{key}\n")).1;
        assert!(!problems.is_empty(), "{key}");
        assert!(problems[0].to_string().contains(error), "{key}: {problems:?}");
    }
    assert!(check("[limits]\nrate_min = \"0\"\n").1.is_empty());
}
