//! Who the client is, behind which proxies, and that no client says so itself.

use std::net::{IpAddr, SocketAddr};

use stdx::{Network, Random};

use super::{ClientHeaders, MEMBERS_MAX, Scheme, TrustedProxies};
use crate::Head;
use crate::request::{self, Underscores};

const PEER: &str = "10.0.0.1";

fn trusted(headers: ClientHeaders) -> TrustedProxies {
    let networks = ["10.0.0.0/8", "2001:db8::/32"].map(|text| Network::parse(text).unwrap());
    TrustedProxies::new(&networks, headers)
}

/// Reads a head with these field lines from a peer.
fn read<R>(
    peer: &str,
    headers: ClientHeaders,
    lines: &[u8],
    look: impl FnOnce(Head<'_>) -> R,
) -> R {
    let bytes = [b"GET / HTTP/1.1\r\nHost: inner\r\n", lines, b"\r\n"].concat();
    let mut fields = Vec::new();
    let line = request::parse(&bytes, Underscores::Drop, &mut fields).unwrap().unwrap();
    let peer = SocketAddr::new(peer.parse().unwrap(), 4711);
    let mut head = Head::new(&bytes, &line, &fields, peer);
    head.believe(&trusted(headers));
    look(head)
}

fn lines(name: &str, values: &[&str]) -> Vec<u8> {
    values.iter().flat_map(|value| format!("{name}: {value}\r\n").into_bytes()).collect()
}

fn client_of(name: &str, values: &[&str]) -> String {
    let headers = match name {
        "Forwarded" => ClientHeaders::Forwarded,
        _ => ClientHeaders::XForwarded,
    };
    read(PEER, headers, &lines(name, values), |head| head.client().to_string())
}

#[test]
fn the_client_is_the_last_address_that_is_not_trusted() {
    for (sent, client) in [
        (&["192.0.2.1"][..], "192.0.2.1"),
        (&["6.6.6.6, 192.0.2.1"], "192.0.2.1"),
        (&["6.6.6.6, 192.0.2.1, 10.9.9.9, 10.0.0.2"], "192.0.2.1"),
        (&["6.6.6.6", "192.0.2.1", "10.0.0.2"], "192.0.2.1"),
        (&["192.0.2.1,10.0.0.2 ,\t10.0.0.3"], "192.0.2.1"),
        (&["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        (&["::ffff:192.0.2.1, ::ffff:10.0.0.2"], "192.0.2.1"),
        (&["2001:db9::7, 2001:db8::1"], "2001:db9::7"),
        (&["192.0.2.1:4711, 10.0.0.2:80"], "192.0.2.1"),
        (&["[2001:db9::7]:4711, [2001:db8::1]"], "2001:db9::7"),
        (&["192.0.2.1, , 10.0.0.2,"], "192.0.2.1"),
        (&[""], PEER),
    ] {
        assert_eq!(client_of("X-Forwarded-For", sent), client, "{sent:?}");
    }
}

#[test]
fn a_member_that_is_no_address_ends_the_walk_at_the_last_good_one() {
    for malformed in [
        "unknown",
        "_hidden",
        "nonsense",
        "1.2.3",
        "010.1.1.1",
        "1.2.3.4:",
        "1.2.3.4:123456",
        "1.2.3.4:_",
        "1.2.3.4:a",
        "[::1",
        "::1]",
        "[1.2.3.4]",
        "[::1]x",
        "\"1.2.3.4\"",
        "1.2.3.4 5",
        "fe80::1%eth0",
        "caf\u{e9}",
    ] {
        assert_eq!(client_of("X-Forwarded-For", &[malformed]), PEER, "{malformed}");
        let behind = format!("192.0.2.1, {malformed}, 10.0.0.2");
        assert_eq!(client_of("X-Forwarded-For", &[&behind]), "10.0.0.2", "{malformed}");
    }
}

#[test]
fn forwarded_is_read_as_rfc_7239_writes_it() {
    for (sent, client) in [
        (&["for=192.0.2.43"][..], "192.0.2.43"),
        (&["For=\"[2001:db9:cafe::17]:4711\""], "2001:db9:cafe::17"),
        (&["for=192.0.2.60;proto=http;by=203.0.113.43"], "192.0.2.60"),
        (&["for=6.6.6.6, for=192.0.2.43, for=\"[2001:db8::1]\""], "192.0.2.43"),
        (&["for=192.0.2.43", "for=10.0.0.2"], "192.0.2.43"),
        (&["for=192.0.2.43, for=unknown"], PEER),
        (&["for=192.0.2.43, for=\"_gazonk\", for=10.0.0.2"], "10.0.0.2"),
        (&["for=\"192.0.2.43:_port\""], "192.0.2.43"),
        (&["for=192.0.2.43, by=10.0.0.2"], PEER),
        (&["for=192.0.2.43, for=10.0.0.2;for=10.0.0.3"], PEER),
        (&["for=192.0.2.43, for=\"10.0.0.\\2\""], PEER),
        (&["for=192.0.2.43, nonsense"], PEER),
        // What a client leaves open swallows nothing of what a proxy adds.
        (&["for=\"6.6.6.6, for=192.0.2.43"], "192.0.2.43"),
        (&["for=\"6.6.6.6, for=\"[2001:db9::7]\""], "2001:db9::7"),
        (&["for=6.6.6.6;x=\"\\\", for=192.0.2.43;x=\"a, b; c\""], "192.0.2.43"),
    ] {
        assert_eq!(client_of("Forwarded", sent), client, "{sent:?}");
    }
}

#[test]
fn the_other_kind_of_header_is_not_looked_at() {
    let both = b"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\
        X-Forwarded-Host: x\r\nForwarded: for=192.0.2.2;host=f\r\n";
    let seen = |headers| {
        read(PEER, headers, both, |head| {
            (head.client().to_string(), head.scheme(), head.forwarded_host().map(str::to_owned))
        })
    };
    let x_forwarded = ("192.0.2.1".to_owned(), Scheme::Https, Some("x".to_owned()));
    assert_eq!(seen(ClientHeaders::XForwarded), x_forwarded);
    let forwarded = ("192.0.2.2".to_owned(), Scheme::Http, Some("f".to_owned()));
    assert_eq!(seen(ClientHeaders::Forwarded), forwarded);
}

#[test]
fn scheme_and_host_are_those_of_the_farthest_proxy_that_is_believed() {
    for (sent, scheme, host) in [
        ("for=192.0.2.1;proto=https;host=\"a:81\"", Scheme::Https, Some("a:81")),
        ("for=6.6.6.6;proto=https;host=evil, for=192.0.2.1", Scheme::Http, None),
        (
            "for=192.0.2.1;proto=https;host=a, for=10.0.0.2;proto=http;host=b",
            Scheme::Https,
            Some("a"),
        ),
        ("for=192.0.2.1;host=a, for=10.0.0.2;proto=HTTPS", Scheme::Https, Some("a")),
        ("for=_hidden;proto=https;host=a", Scheme::Https, Some("a")),
        ("for=192.0.2.1;proto=wss;host=\"a b\"", Scheme::Http, None),
    ] {
        let lines = lines("Forwarded", &[sent]);
        read(PEER, ClientHeaders::Forwarded, &lines, |head| {
            assert_eq!((head.scheme(), head.forwarded_host()), (scheme, host), "{sent}");
        });
    }
    let long = "a".repeat(256);
    for (proto, host, scheme, seen) in [
        ("https", "a.example:8443", Scheme::Https, Some("a.example:8443")),
        ("http, HTTPS", "evil, a", Scheme::Https, Some("a")),
        ("https, gopher", "a, ", Scheme::Http, None),
        ("", "a/b", Scheme::Http, None),
        ("https", &long, Scheme::Https, None),
    ] {
        let lines =
            [lines("X-Forwarded-Proto", &[proto]), lines("X-Forwarded-Host", &[host])].concat();
        read(PEER, ClientHeaders::XForwarded, &lines, |head| {
            assert_eq!((head.scheme(), head.forwarded_host()), (scheme, seen), "{proto} {host}");
        });
    }
}

#[test]
fn only_a_request_id_that_fits_one_is_believed() {
    let id = 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef;
    for (sent, expected) in [
        (&["0123456789abcdef0123456789ABCDEF"][..], Some(id)),
        (&["01234567-89ab-cdef-0123-456789abcdef"], Some(id)),
        (&["0123456789abcdef0123456789abcdef"; 2], None),
        (&["00000000000000000000000000000000"], None),
        (&["0123456789abcdef0123456789abcdeg"], None),
        (&["0123456789abcdef0123456789abcde"], None),
        (&["01234567089ab-cdef-0123-456789abcdef"], None),
        (&["012345678-9ab-cdef-0123-456789abcdef"], None),
        (&["+123456789abcdef0123456789abcdef"], None),
        (&[""], None),
        (&[], None),
    ] {
        let lines = lines("X-Request-Id", sent);
        read(PEER, ClientHeaders::XForwarded, &lines, |head| {
            assert_eq!(head.request_id(), expected, "{sent:?}");
        });
    }
}

#[test]
fn nothing_is_believed_of_a_peer_that_is_not_trusted() {
    let all = b"X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: x\r\n\
        Forwarded: for=192.0.2.2;proto=https;host=f\r\n\
        X-Request-Id: 0123456789abcdef0123456789abcdef\r\n";
    for headers in [ClientHeaders::XForwarded, ClientHeaders::Forwarded] {
        for peer in ["192.0.2.9", "11.0.0.1", "2001:db9::1", "::ffff:192.0.2.9"] {
            read(peer, headers, all, |head| {
                let itself = peer.parse::<IpAddr>().unwrap().to_canonical();
                assert_eq!(head.client(), itself);
                assert_eq!(head.chain().collect::<Vec<_>>(), [itself]);
                assert_eq!((head.scheme(), head.forwarded_host()), (Scheme::Http, None));
                assert_eq!((head.request_id(), head.is_forwarded()), (None, false));
            });
        }
    }
    read("::ffff:10.0.0.1", ClientHeaders::XForwarded, all, |head| {
        assert_eq!(head.client().to_string(), "192.0.2.1");
    });
}

#[test]
fn the_chain_holds_what_is_believed_from_the_peer_to_the_client() {
    let lines = lines("X-Forwarded-For", &["6.6.6.6, nonsense, 192.0.2.1", "10.0.0.3, 10.0.0.2"]);
    read(PEER, ClientHeaders::XForwarded, &lines, |head| {
        let chain: Vec<String> = head.chain().map(|address| address.to_string()).collect();
        assert_eq!(chain, [PEER, "10.0.0.2", "10.0.0.3", "192.0.2.1"]);
    });
}

#[test]
fn members_beyond_the_bound_are_not_read() {
    let proxies = vec!["10.0.0.2"; MEMBERS_MAX - 1].join(", ");
    assert_eq!(client_of("X-Forwarded-For", &["192.0.2.1", &proxies]), "192.0.2.1");
    assert_eq!(client_of("X-Forwarded-For", &["192.0.2.1", "10.0.0.2", &proxies]), "10.0.0.2");
    assert_eq!(client_of("X-Forwarded-For", &["192.0.2.1", &",".repeat(MEMBERS_MAX)]), PEER);
}

/// A value that a client may send, of bytes and words that mean something to the reader.
fn any_value(random: &mut Random) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "for=",
        "proto=https",
        "host=evil",
        ";",
        ",",
        "\"",
        "\\",
        "=",
        "6.6.6.6",
        "10.0.0.2",
        "[2001:db8::1]",
        ":80",
        "unknown",
        "_x",
        " ",
        "2001:db8::2",
    ];
    let mut value = Vec::new();
    for _ in 0..random.bits() % 12 {
        match random.bits() % 4 {
            0 => {
                let byte = random.bits() as u8;
                let is_of_value = byte == b'\t' || byte >= b' ' && byte != 127;
                value.push(if is_of_value { byte } else { b'x' });
            }
            _ => value.extend_from_slice(WORDS[random.bits() as usize % WORDS.len()].as_bytes()),
        }
    }
    value
}

#[test]
fn a_client_behind_trusted_proxies_never_chooses_its_address() {
    let mut random = Random::new(7239);
    for _ in 0..20_000 {
        let own = any_value(&mut random);
        // The first proxy adds to the line of the client, or a line of its own; so does a second.
        let (name, written, headers) = match random.bits() % 3 {
            0 => ("X-Forwarded-For", ["192.0.2.1", "10.0.0.3"], ClientHeaders::XForwarded),
            1 => ("Forwarded", ["for=192.0.2.1", "for=10.0.0.3"], ClientHeaders::Forwarded),
            _ => {
                let quoted = ["proto=http;for=\"192.0.2.1:80\"", "for=\"10.0.0.3\";proto=http"];
                ("Forwarded", quoted, ClientHeaders::Forwarded)
            }
        };
        let mut lines = [name.as_bytes(), b": ", &own].concat();
        for written in &written[..1 + random.bits() as usize % 2] {
            let separator =
                if random.bits().is_multiple_of(2) { ", " } else { &format!("\r\n{name}: ") };
            lines.extend_from_slice(format!("{separator}{written}").as_bytes());
        }
        lines.extend_from_slice(b"\r\n");
        read(PEER, headers, &lines, |head| {
            let sent = String::from_utf8_lossy(&lines);
            assert_eq!(head.client().to_string(), "192.0.2.1", "{sent}");
            assert_eq!((head.scheme(), head.forwarded_host()), (Scheme::Http, None), "{sent}");
        });
    }
}

#[test]
fn whatever_is_sent_the_chain_leads_from_the_peer_over_proxies_to_the_client() {
    let mut random = Random::new(44);
    for _ in 0..20_000 {
        let (one, other) = (any_value(&mut random), any_value(&mut random));
        for (name, headers) in [
            ("X-Forwarded-For", ClientHeaders::XForwarded),
            ("Forwarded", ClientHeaders::Forwarded),
        ] {
            let (name, end) = (name.as_bytes(), b"\r\n");
            let lines = [name, b": ", &one, end, name, b":", &other, end].concat();
            read(PEER, headers, &lines, |head| {
                let chain: Vec<IpAddr> = head.chain().collect();
                assert_eq!(chain.first().map(ToString::to_string).as_deref(), Some(PEER));
                assert_eq!(chain.last(), Some(&head.client()));
                let proxies = &chain[..chain.len() - 1];
                assert!(proxies.iter().all(|proxy| trusted(headers).has(*proxy)), "{chain:?}");
            });
        }
    }
}
