//! Claims about what request lines, totals, addresses and results of caches mean.

use crate::decode::tests::{decoder, fields};

#[test]
fn a_request_line_is_taken_apart_however_it_is_written() {
    for (request, expected) in [
        ("GET /a?b=1 HTTP/1.1", ["GET", "/a", "b=1", "1.1"]),
        ("POST /a HTTP/2", ["POST", "/a", "-", "2"]),
        ("PROPFIND /a? HTTP/1.0", ["PROPFIND", "/a", "", "1.0"]),
        ("GET /a b HTTP/1.1", ["GET", "/a b", "-", "1.1"]),
        ("GET /a HTTP/1.0 HTTP/1.1", ["GET", "/a HTTP/1.0", "-", "1.1"]),
        ("GET /a HTTP/1.0 HTTP/3", ["GET", "/a HTTP/1.0", "-", "3"]),
        ("GET /a", ["GET", "/a", "-", "-"]),
        ("PUT /a -", ["PUT", "/a", "-", "-"]),
        ("GET -", ["GET", "-", "-", "-"]),
        ("- - HTTP/1.1", ["-", "-", "-", "1.1"]),
        ("/a?b", ["-", "/a", "b", "-"]),
        ("GET", ["-", "GET", "-", "-"]),
        ("  ", ["-", "-", "-", "-"]),
        ("-", ["-", "-", "-", "-"]),
        ("", ["-", "-", "-", "-"]),
    ] {
        let line =
            format!("1.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"{request}\" 200 12 \"-\" \"-\"\n");
        let names = ["method", "path", "query", "version"];
        let seen = fields(&mut decoder("combined"), line.as_bytes(), &names);
        assert_eq!(seen, [Ok(expected.map(str::to_owned).to_vec())], "{request:?}");
    }
}

/// What a label of LTSV makes of a field.
fn labelled(label: &str, text: &str, field: &str) -> Option<String> {
    let line = format!("time:21/Nov/2026:03:54:12 +0000\tstatus:200\t{label}:{text}\n");
    let seen = fields(&mut decoder("ltsv"), line.as_bytes(), &[field]);
    seen[0].clone().ok().map(|mut values| values.remove(0))
}

#[test]
fn totals_are_microseconds_whatever_their_unit() {
    for (label, text, us) in [
        ("reqtime", "0.0015", Some("1500")),
        ("reqtime", "1e3", Some("1000000000")),
        ("reqtime", "1e12", None),
        ("reqtime", "-0.5", None),
        ("reqtime", "-1", Some("-")),
        ("reqtime", "5s", Some("5000000")),
        ("reqtime", "1.5m", Some("90000000")),
        ("reqtime", "x", None),
        ("reqtime_microsec", "1500", Some("1500")),
        ("reqtime_microsec", "5s", None),
        ("reqtime_microsec", "1.5", None),
        ("total_ms", "1.5", Some("1500")),
        ("total_ms", "+7", Some("7000")),
        ("total_ms", "++7", None),
        ("total_ms", "2h", Some("7200000000")),
        ("total_ns", "1999", Some("1")),
        ("total_ns", "2000", Some("2")),
        ("total_ns", "2ms", None),
        ("total_part", "0.25", Some("250000")),
    ] {
        assert_eq!(labelled(label, text, "total").as_deref(), us, "{label}:{text}");
    }
}

#[test]
fn what_other_caches_did_has_our_names_and_what_is_not_known_is_none() {
    for (ours, theirs) in [
        ("hit", &["HIT", "hit", "Hit"][..]),
        ("miss", &["MISS", "EXPIRED", "REVALIDATED", "miss", "Miss", "RefreshHit"]),
        ("stale", &["STALE", "UPDATING", "stale"]),
        ("pass", &["BYPASS", "pass"]),
        ("collapsed", &["collapsed"]),
        ("none", &["Error", "hIT", "x"]),
        ("-", &["-", ""]),
    ] {
        for result in theirs {
            let seen = labelled("upstream_cache_status", result, "cache");
            assert_eq!(seen.as_deref(), Some(ours), "{result}");
        }
    }
}

#[test]
fn the_address_of_an_endpoint_has_neither_port_nor_brackets() {
    for (endpoint, address) in [
        ("10.0.0.1:80", "10.0.0.1"),
        ("[2001:db8::7]:443", "2001:db8::7"),
        ("::1:80", "::1"),
        ("[::1:80", "[::1"),
        ("unix", "unix"),
        (":80", "-"),
        ("[:80", "["),
    ] {
        let line = format!("[21/Nov/2026:03:54:12 +0000] {endpoint} x\n");
        let mut decoder = decoder("[$time_local] $client_endpoint x");
        let seen = fields(&mut decoder, line.as_bytes(), &["client_ip"]);
        assert_eq!(seen, [Ok(vec![address.to_owned()])], "{endpoint}");
    }
}
