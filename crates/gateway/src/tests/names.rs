//! Claims about upstreams with names, made with a real name server.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::{Answers, Client, NameServer, Origin, OriginReply};

use super::raw::{RawOrigin, say};
use super::{Served, cache_status, check, eventually, serve};
use crate::upstream::NameStatus;

/// Where the gateway of these tests takes itself to listen.
pub(super) const LISTENER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 66));

/// Starts origins at these addresses, with one port; each answers with its address.
fn origins(addresses: &[&'static str]) -> (u16, Vec<Origin>) {
    let mut port = 0;
    let start = |address: &&'static str| {
        let address = *address;
        let at = SocketAddr::new(address.parse().unwrap(), port);
        let origin = Origin::start_at(at, move |_| OriginReply::ok(address));
        port = origin.address().port();
        origin
    };
    let origins = addresses.iter().map(start).collect();
    (port, origins)
}

fn config(names: &NameServer, servers: &str, upstream: &str, route: &str) -> String {
    let resolver = names.address();
    format!(
        "[resolver]\nservers = [\"{resolver}\"]\n\
         [[upstream]]\nname = \"o\"\nservers = [{servers}]\n{upstream}\n\
         [[route]]\npath = \"/{{*rest}}\"\nto = \"upstream:o\"\n{route}\n"
    )
}

/// Serves in front of `api.test` at a port.
fn before_name(names: &NameServer, port: u16, upstream: &str) -> Served {
    serve(&config(names, &format!("\"api.test:{port}\""), upstream, "cache = {}"))
}

impl Served {
    /// Waits until the upstream has servers at these addresses alone.
    #[track_caller]
    fn wait_for_servers(&self, expected: &[&str]) {
        let upstream = &self.gateway.upstreams[0];
        eventually("servers", || {
            let servers = upstream.servers();
            servers
                .iter()
                .map(|server| server.address.ip().to_string())
                .eq(expected.iter().copied())
        });
    }

    fn name(&self) -> NameStatus {
        self.gateway.upstreams[0].names().remove(0)
    }

    fn lookups(&self, result: &str) -> u64 {
        self.registry.sum("tidegate_name_lookups_total", &[("upstream", "o"), ("result", result)])
    }

    /// Returns the answers to these many requests, each for a path of its own.
    fn texts(&self, count: usize) -> Vec<String> {
        let text = |n| {
            let reply = self.get(&format!("/{n}"));
            assert_eq!(reply.status, 200, "{}", reply.text());
            reply.text().to_owned()
        };
        (0..count).map(text).collect()
    }
}

#[test]
fn every_address_of_a_name_is_a_server_listed_once() {
    let names = NameServer::start();
    names.set("api.test", 3600, &["127.0.0.2", "127.0.0.1", "127.0.0.3"]);
    let (port, _origins) = origins(&["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    let servers = format!("\"127.0.0.3:{port}\", \"api.test:{port}\"");
    let served = serve(&config(&names, &servers, "", ""));
    served.wait_for_servers(&["127.0.0.3", "127.0.0.1", "127.0.0.2"]);
    let texts = served.texts(9);
    for address in ["127.0.0.1", "127.0.0.2", "127.0.0.3"] {
        assert_eq!(texts.iter().filter(|text| *text == address).count(), 3, "{texts:?}");
    }
    assert_eq!(names.count("127.0.0.3"), 0);
    let expected = NameStatus { name: format!("api.test:{port}"), addresses: 3, problem: None };
    assert_eq!(served.name(), expected);
}

#[test]
fn a_server_that_moves_is_followed_without_a_failed_request() {
    let names = NameServer::start();
    names.set("api.test", 0, &["127.0.0.1"]);
    let old = RawOrigin::start(|_, line| {
        say(line, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold");
        true
    });
    let at = SocketAddr::from(([127, 0, 0, 2], old.address.port()));
    let _new = Origin::start_at(at, |_| OriginReply::ok("new"));
    let served = before_name(&names, at.port(), "");
    served.wait_for_servers(&["127.0.0.1"]);
    assert_eq!(served.texts(2), ["old", "old"]);
    names.set("api.test", 0, &["127.0.0.2"]);
    eventually("the move", || served.texts(1) == ["new"]);
    assert!(served.texts(6).iter().all(|text| text == "new"));
    // It was kept for 60 seconds more.
    old.wait_for_ends(1);
}

#[test]
fn with_a_dead_name_server_the_last_good_addresses_serve_and_the_operator_sees_it() {
    let names = NameServer::start();
    let at = names.address();
    names.set("api.test", 0, &["127.0.0.1", "127.0.0.2"]);
    let (port, _origins) = origins(&["127.0.0.1", "127.0.0.2"]);
    let served = before_name(&names, port, "");
    served.wait_for_servers(&["127.0.0.1", "127.0.0.2"]);
    let stale = || served.registry.prometheus().contains("tidegate_names_stale{upstream=\"o\"} 1");
    eventually("a good look-up", || !stale());
    drop(names);
    eventually("the problem", || served.name().problem.is_some() && stale());
    assert_eq!((served.name().addresses, served.lookups("failed") > 0), (2, true));
    served.texts(4);
    let names = NameServer::start_on(at.port());
    // It does not know the name yet, which takes nothing away either.
    eventually("an unknown name", || served.lookups("unknown") > 0);
    assert_eq!(served.name().addresses, 2);
    served.texts(4);
    names.set("api.test", 0, &["127.0.0.2"]);
    served.wait_for_servers(&["127.0.0.2"]);
    eventually("the end of the problem", || served.name().problem.is_none() && !stale());
}

#[test]
fn a_name_that_is_not_known_at_start_is_503_until_it_is() {
    let names = NameServer::start();
    names.answer(Answers::Servfail);
    let (port, _origins) = origins(&["127.0.0.1"]);
    let served = before_name(&names, port, "");
    eventually("a failed look-up", || served.lookups("failed") > 0);
    let reply = served.get("/");
    assert_eq!((reply.status, cache_status(&reply)), (503, "tidegate; detail=unhealthy"));
    assert!(!served.gateway.upstreams[0].is_healthy());
    names.set("api.test", 3600, &["127.0.0.1"]);
    names.answer(Answers::Well);
    served.wait_for_servers(&["127.0.0.1"]);
    assert!(served.gateway.upstreams[0].is_healthy());
    served.texts(2);
}

#[test]
fn health_is_that_of_an_address_whatever_comes_and_goes() {
    let names = NameServer::start();
    let sick = Arc::new(AtomicBool::new(true));
    let start = |address: [u8; 4], port: u16, own: Option<Arc<AtomicBool>>| {
        Origin::start_at(SocketAddr::from((address, port)), move |_| {
            match own.as_ref().is_some_and(|sick| sick.load(Ordering::SeqCst)) {
                true => OriginReply::status(500),
                false => OriginReply::ok("x"),
            }
        })
    };
    let one = start([127, 0, 0, 1], 0, None);
    let port = one.address().port();
    let two = start([127, 0, 0, 2], port, Some(Arc::clone(&sick)));
    names.set("api.test", 0, &["127.0.0.1", "127.0.0.2"]);
    let health = "health = { path = \"/ping\", interval = \"5ms\", window = 3, threshold = 2 }";
    let served = before_name(&names, port, health);
    served.wait_for_servers(&["127.0.0.1", "127.0.0.2"]);
    let upstream = &served.gateway.upstreams[0];
    let before = upstream.servers();
    eventually("one is out", || !before[1].health.is_healthy());
    let three = start([127, 0, 0, 3], port, Some(Arc::clone(&sick)));
    names.set("api.test", 0, &["127.0.0.3", "127.0.0.2"]);
    served.wait_for_servers(&["127.0.0.2", "127.0.0.3"]);
    let after = upstream.servers();
    assert!(Arc::ptr_eq(&before[1], &after[0]) && !after[0].health.is_healthy());
    eventually("the new one is probed", || !after[1].health.is_healthy());
    eventually("all are out", || !upstream.is_healthy());
    sick.store(false, Ordering::SeqCst);
    eventually("all are back", || after.iter().all(|server| server.health.is_healthy()));
    assert!(upstream.is_healthy());
    assert!([&one, &two, &three].iter().all(|origin| origin.count("/ping") > 0));
}

#[test]
fn a_new_server_begins_with_the_initial_health() {
    let names = NameServer::start();
    names.set("api.test", 0, &["127.0.0.1"]);
    let (port, _origins) = origins(&["127.0.0.1"]);
    let text = "health = { path = \"/\", interval = \"60s\", threshold = 2, initial = 0 }";
    let served = before_name(&names, port, text);
    served.wait_for_servers(&["127.0.0.1"]);
    assert!(!served.gateway.upstreams[0].is_healthy(), "one good probe of two is not healthy");
}

#[test]
fn consistent_hashing_moves_the_keys_of_the_address_that_went_alone() {
    let names = NameServer::start();
    let all = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
    names.set("api.test", 0, &all);
    let (port, _origins) = origins(&all);
    let served = before_name(&names, port, "balance = \"consistent-hash\"");
    served.wait_for_servers(&all);
    let before = served.texts(60);
    names.set("api.test", 0, &all[..2]);
    served.wait_for_servers(&all[..2]);
    for (before, after) in before.iter().zip(served.texts(60)) {
        assert!(after != all[2] && (before == all[2] || *before == after));
    }
    names.set("api.test", 0, &all);
    served.wait_for_servers(&all);
    assert_eq!(served.texts(60), before);
}

#[test]
fn where_one_address_of_a_name_refuses_the_next_one_is_asked() {
    let names = NameServer::start();
    names.set("api.test", 0, &["127.0.0.1", "127.0.0.2", "::1"]);
    let (port, origins) = origins(&["127.0.0.1"]);
    let served = before_name(&names, port, "");
    served.wait_for_servers(&["127.0.0.1", "127.0.0.2", "::1"]);
    served.texts(9);
    for _ in 0..6 {
        assert_eq!(Client::post(served.address, "/change", "x").send().status, 200);
    }
    assert_eq!(origins[0].count("/change"), 6);
}

#[test]
fn an_upgrade_too_goes_to_the_next_address_where_one_refuses() {
    let names = NameServer::start();
    names.set("api.test", 0, &["127.0.0.1", "127.0.0.2"]);
    let origin = RawOrigin::start(|_, line| {
        let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\n";
        say(line, format!("{head}Upgrade: websocket\r\n\r\n"));
        false
    });
    let server = format!("\"api.test:{}\"", origin.address.port());
    let served = serve(&config(&names, &server, "", "upgrade = [\"websocket\"]"));
    served.wait_for_servers(&["127.0.0.1", "127.0.0.2"]);
    for _ in 0..4 {
        let mut client = TcpStream::connect(served.address).unwrap();
        let head = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n";
        client.write_all(head.as_bytes()).unwrap();
        let mut status = [0; 12];
        client.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 101");
    }
}

#[test]
fn an_address_where_this_process_listens_is_never_a_server() {
    let names = NameServer::start();
    names.set("api.test", 3600, &["127.0.0.66", "127.0.0.1"]);
    let (port, origins) = origins(&["127.0.0.1", "127.0.0.66"]);
    let served = before_name(&names, port, "");
    served.wait_for_servers(&["127.0.0.1"]);
    served.texts(6);
    assert!(origins[1].requests().is_empty());
    let problem = served.name().problem.unwrap();
    assert_eq!(problem, format!("127.0.0.66:{port} is left out: this process listens there"));
}

#[test]
fn localhost_is_this_machine_without_a_name_server() {
    let names = NameServer::start();
    let (port, _origins) = origins(&["127.0.0.1"]);
    let served = serve(&config(&names, &format!("\"localhost:{port}\""), "", ""));
    eventually("an address", || served.name().addresses > 0);
    served.texts(6);
    assert_eq!(names.count("localhost"), 0);
}

#[test]
fn names_are_checked_offline_and_an_address_with_a_mistake_is_none() {
    for server in ["api.internal:80", "api:80", "a-b.c_d.example.:65535", "127.0.0.1:1", "[::1]:1"]
    {
        let text = format!("[[upstream]]\nname = \"a\"\nservers = [\"{server}\"]\n");
        assert_eq!(check(&text).1, [], "{server}");
    }
    for server in ["256.0.0.1:80", "127.1:80", "a b:80", "-é:80", "a..b:80", "[::x]:80", ".:80"] {
        let text = format!("[[upstream]]\nname = \"a\"\nservers = [\"{server}\"]\n");
        let (_, problems) = check(&text);
        assert!(problems[0].message.contains("neither an IP address nor a name"), "{server}");
    }
}

#[test]
fn a_wrong_resolver_is_reported_at_its_keys() {
    let text = "[resolver]\nservers = [\"dns.test\"]\nttl_min = \"10s\"\nttl_max = \"5s\"\n";
    let (_, problems) = check(text);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            "line 2: `resolver.servers`: `dns.test` is no address; write IP or IP:PORT",
            "line 3: `resolver.ttl_min`: is longer than `ttl_max`",
        ]
    );
    let (plan, problems) = check("[resolver]\nservers = [\"10.0.0.1\", \"[::1]:5353\"]\n");
    assert_eq!(problems, []);
    assert_eq!(
        plan.resolver.servers.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.0.0.1:53", "[::1]:5353"]
    );
}
