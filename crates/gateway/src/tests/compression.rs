//! Claims about the encodings of stored responses.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use testkit::{Client, Origin, OriginReply, Reply};

use super::{Served, assert_hit, assert_miss, before, decision, eventually, route_to, serve};
use crate::purge_request::PurgeRequest;
use http1::accept::Coding;

pub(super) const ALL: (&str, &str) = ("Accept-Encoding", "gzip, deflate, br, zstd");
pub(super) const BR: (&str, &str) = ("Accept-Encoding", "br");
pub(super) const GZIP: (&str, &str) = ("Accept-Encoding", "gzip");
pub(super) const ZSTD: (&str, &str) = ("Accept-Encoding", "zstd");

/// Returns a JSON text of about this length that shrinks as such texts do.
pub(super) fn json(bytes: usize) -> String {
    let mut text = String::from("[");
    let mut seed = 1u64;
    while text.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
        let score = seed >> 40;
        text.push_str(&format!(
            "{{\"id\":{seed},\"title\":\"item {score}\",\"score\":0.{score}}},"
        ));
    }
    text.push_str("{}]");
    text
}

/// Returns the decoded body.
#[track_caller]
pub(super) fn decoded(reply: &Reply) -> Vec<u8> {
    let mut out = Vec::new();
    match reply.header("content-encoding") {
        None => return reply.body.clone(),
        Some("gzip") => drop(flate2::read::GzDecoder::new(&reply.body[..]).read_to_end(&mut out)),
        Some("zstd") => out = zstd::stream::decode_all(&reply.body[..]).unwrap(),
        Some("br") => {
            let mut decoder = brotli::Decompressor::new(&reply.body[..], 4096);
            decoder.read_to_end(&mut out).unwrap();
        }
        Some(other) => panic!("no such coding: {other}"),
    }
    out
}

/// Returns the number of bodies encoded so far, in all codings.
pub(super) fn encodings(served: &Served) -> u64 {
    served.gateway.metrics.encoded.iter().map(metrics::Counter::get).sum()
}

fn cached_json(body: &str) -> OriginReply {
    OriginReply::ok(body)
        .header("Cache-Control", "max-age=60")
        .header("Content-Type", "application/json; charset=utf-8")
}

/// An origin that answers every request with the same storable JSON.
fn origin(body: &str) -> Origin {
    let body = body.to_owned();
    Origin::start(move |_| cached_json(&body).header("ETag", "\"v1\""))
}

#[test]
fn one_fetch_serves_every_coding_and_each_is_made_once() {
    let body = json(4000);
    let origin = origin(&body);
    let served = before(&origin, "cache = {}");
    for round in 0..3 {
        for accepted in [BR, GZIP, ZSTD] {
            let reply = served.get_with("/", &[accepted]);
            assert_eq!(reply.header("content-encoding"), Some(accepted.1), "in round {round}");
            assert_eq!(decoded(&reply), body.as_bytes());
            assert!(reply.body.len() * 2 < body.len(), "{accepted:?}: {}", reply.body.len());
            assert_eq!(reply.header("content-length"), Some(&*reply.body.len().to_string()));
            assert_eq!(reply.header("vary"), Some("Accept-Encoding"));
        }
        let plain = served.get("/");
        assert_eq!((plain.text(), plain.header("content-encoding")), (&*body, None));
        assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
    }
    assert_eq!((origin.count("/"), encodings(&served)), (1, 3));
    assert_eq!(origin.requests()[0].header("accept-encoding"), Some("identity"));
}

#[test]
fn the_client_says_which_coding_it_gets() {
    let origin = origin(&json(4000));
    let served = before(&origin, "cache = {}");
    for (accepted, coding) in [
        ("gzip, deflate, br, zstd", Some("zstd")),
        ("gzip, deflate, br", Some("gzip")),
        ("gzip;q=0.5, br;q=0.8, zstd;q=0.2", Some("br")),
        ("gzip;q=0, *", None),
        ("*", Some("gzip")),
        ("identity, gzip;q=0.5", None),
        ("identity;q=0", None),
        ("deflate", None),
    ] {
        let reply = served.get_with("/", &[("Accept-Encoding", accepted)]);
        assert_eq!((reply.status, reply.header("content-encoding")), (200, coding), "{accepted}");
    }
    let unchanged = [ALL, ("Cache-Control", "no-transform")];
    assert_eq!(served.get_with("/", &unchanged).header("content-encoding"), None);
}

#[test]
fn what_is_asked_for_often_is_made_smaller_behind_the_clients_backs() {
    let body = include_str!("compression.rs");
    let origin = origin(body);
    let served = before(&origin, "cache = {}");
    let first = served.get_with("/", &[ALL]);
    assert_eq!(first.header("content-encoding"), Some("zstd"));
    eventually("brotli", || {
        let reply = served.get_with("/", &[ALL]);
        assert_eq!(decoded(&reply), body.as_bytes());
        reply.header("content-encoding") == Some("br")
    });
    assert!(served.get_with("/", &[ALL]).body.len() < first.body.len());
    assert_eq!((origin.count("/"), encodings(&served)), (1, 2));
}

#[test]
fn a_herd_on_an_answer_that_is_not_yet_encoded_has_it_encoded_once() {
    for bytes in [3000, 300_000] {
        let body = json(bytes);
        let origin = origin(&body);
        let served = before(&origin, "cache = {}");
        served.get("/");
        let asking: Vec<_> = (0..40).map(|_| served.ask("/", &[GZIP])).collect();
        for reply in asking {
            let reply = reply.join().unwrap();
            assert_hit(&reply);
            assert_eq!(decoded(&reply), body.as_bytes());
        }
        eventually("the encoded answer", || {
            served.get_with("/", &[GZIP]).header("content-encoding") == Some("gzip")
        });
        assert_eq!(encodings(&served), 1, "{bytes} bytes");
    }
}

#[test]
fn waiters_on_a_flight_share_what_was_encoded_for_its_leader() {
    let body = json(4000);
    let gate = testkit::Gate::new();
    let (own, text) = (gate.clone(), body.clone());
    let origin = Origin::start(move |_| cached_json(&text).after(&own));
    let served = before(&origin, "cache = {}");
    let asking: Vec<_> = (0..10).map(|_| served.ask("/", &[ZSTD])).collect();
    served.wait_for_waiters(9);
    gate.open();
    for reply in asking {
        let reply = reply.join().unwrap();
        assert_eq!(reply.header("content-encoding"), Some("zstd"));
        assert_eq!(decoded(&reply), body.as_bytes());
    }
    assert_eq!((origin.count("/"), encodings(&served)), (1, 1));
}

#[test]
fn tags_are_weak_and_told_apart_and_each_gives_304() {
    let origin = origin(&json(4000));
    let served = before(&origin, "cache = {}");
    assert_eq!(served.get("/").header("etag"), Some("\"v1\""));
    let tag = |accepted| served.get_with("/", &[accepted]).header("etag").unwrap().to_owned();
    let (br, gzip, zstd) = (tag(BR), tag(GZIP), tag(ZSTD));
    assert_eq!(br, "W/\"v1~tg-br\"");
    assert_ne!(gzip, zstd);
    for held in [&*br, &*gzip, &*zstd, "\"v1\"", "W/\"v1\""] {
        let reply = served.get_with("/", &[ALL, ("If-None-Match", held)]);
        assert_eq!((reply.status, reply.body.len()), (304, 0), "{held}");
        let told = reply.header("etag").unwrap();
        assert_eq!(told.trim_start_matches("W/"), held.trim_start_matches("W/"));
        assert_eq!(reply.header("vary"), Some("Accept-Encoding"));
    }
    let list = format!("\"x\", {gzip}, \"y\"");
    assert_eq!(served.get_with("/", &[ALL, ("If-None-Match", &list)]).status, 304);
    for other in ["\"v2\"", "W/\"v1~tg-lzma\"", "W/\"v2~tg-br\"", "\"v1~tg-br", "\"~tg-br\""] {
        assert_eq!(served.get_with("/", &[ALL, ("If-None-Match", other)]).status, 200, "{other}");
    }
    // A cache that has one coding may ask for a client that cannot decode it.
    let plain = served.get_with("/", &[("If-None-Match", &br)]);
    assert_eq!((plain.status, plain.header("content-encoding")), (200, None));
    let star = served.get_with("/", &[GZIP, ("If-None-Match", "*")]);
    assert_eq!((star.status, star.header("etag")), (304, Some(&*gzip)));
}

#[test]
fn a_304_for_a_coding_that_was_never_made_names_its_tag_all_the_same() {
    let origin = origin(&json(4000));
    let served = before(&origin, "cache = {}");
    served.get("/");
    let headers = [ALL, ("If-None-Match", "W/\"v1~tg-br\"")];
    let reply = served.get_with("/", &headers);
    assert_eq!((reply.status, reply.header("etag")), (304, Some("W/\"v1~tg-br\"")));
}

#[test]
fn parts_are_cut_from_the_bytes_as_they_are() {
    let body = json(4000);
    let text = body.clone();
    let origin = Origin::start(move |_| {
        cached_json(&text)
            .header("ETag", "\"v1\"")
            .header("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT")
            .header("Accept-Ranges", "bytes")
    });
    let served = before(&origin, "cache = {}");
    let whole = served.get_with("/", &[ALL]);
    assert_eq!(whole.header("accept-ranges"), None, "no parts of encoded bytes are promised");
    assert_eq!(served.get("/").header("accept-ranges"), Some("bytes"));
    let range = ("Range", "bytes=10-19");
    for accepted in [ALL, ("Accept-Encoding", "identity")] {
        let part = served.get_with("/", &[accepted, range]);
        assert_eq!((part.status, part.text()), (206, &body[10..20]));
        assert_eq!((part.header("content-encoding"), part.header("etag")), (None, Some("\"v1\"")));
        assert_eq!(part.header("vary"), Some("Accept-Encoding"));
        let current = served.get_with("/", &[accepted, range, ("If-Range", "\"v1\"")]);
        assert_eq!((current.status, current.text()), (206, &body[10..20]));
    }
    let encoded = whole.header("etag").unwrap();
    for condition in [encoded, "\"v1~tg-zstd\"", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        let anew = served.get_with("/", &[ALL, range, ("If-Range", condition)]);
        assert_eq!((anew.status, decoded(&anew).len()), (200, body.len()), "{condition}");
    }
    let dated = ("If-Range", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(served.get_with("/", &[range, dated]).status, 206);
}

#[test]
fn head_tells_what_get_would_bring() {
    let origin = origin(&json(4000));
    let served = before(&origin, "cache = {}");
    let ask = |method: &str| {
        Client::call(served.address, method, "/").header("Accept-Encoding", "gzip").send()
    };
    let head = ask("HEAD");
    let get = ask("GET");
    for field in ["content-encoding", "content-length", "etag", "vary"] {
        assert_eq!(head.header(field), get.header(field), "{field}");
    }
    assert_eq!((head.header("content-encoding"), head.body.len()), (Some("gzip"), 0));
}

#[test]
fn vary_is_merged_and_not_doubled() {
    let body = json(4000);
    let origin = Origin::start(move |request| {
        request.path()[1..]
            .split('+')
            .filter(|line| !line.is_empty())
            .fold(cached_json(&body), |reply, line| reply.header("Vary", &line.replace('_', ", ")))
    });
    let served = before(&origin, "cache = {}");
    for (sent, told) in [
        ("/", &["Accept-Encoding"][..]),
        ("/X", &["X, Accept-Encoding"]),
        ("/X_accept-encoding", &["X, accept-encoding"]),
        ("/X+Y", &["X, Accept-Encoding", "Y"]),
        ("/X+ACCEPT-ENCODING", &["X", "ACCEPT-ENCODING"]),
    ] {
        for accepted in [ALL, ("Accept-Encoding", "identity")] {
            let reply = served.get_with(sent, &[accepted]);
            assert_eq!(reply.headers.all("vary").collect::<Vec<_>>(), told, "{sent}");
        }
        assert_eq!(origin.count(sent), 1, "{sent}: one fetch for all codings");
    }
}

#[test]
fn what_must_not_or_need_not_be_encoded_passes_untouched() {
    let text = json(4000);
    let (digest, short) = ("sha-256=:AAAA:", json(500));
    let random: Vec<u8> =
        (0..5000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (own, noise) = (text.clone(), random.clone());
    let origin = Origin::start(move |request| match request.path() {
        "/encoded" => cached_json(&own).header("Content-Encoding", "gzip"),
        "/fixed" => cached_json(&own).header("Cache-Control", "no-transform"),
        "/digest" => cached_json(&own).header("Content-Digest", digest),
        "/repr" => cached_json(&own).header("Repr-Digest", digest),
        "/short" => cached_json(&short),
        "/empty" => cached_json(""),
        "/picture" => OriginReply::ok(noise.clone())
            .header("Content-Type", "image/png")
            .header("Cache-Control", "max-age=60"),
        "/untold" => OriginReply::ok(own.clone()).header("Cache-Control", "max-age=60"),
        "/events" => OriginReply::ok(own.clone())
            .header("Content-Type", "text/event-stream")
            .header("Cache-Control", "max-age=60"),
        _ => unreachable!(),
    });
    let served = before(&origin, "cache = {}");
    for path in [
        "/encoded", "/fixed", "/digest", "/repr", "/short", "/empty", "/picture", "/untold",
        "/events",
    ] {
        let first = served.get_with(path, &[ALL]);
        let again = served.get_with(path, &[ALL]);
        assert_eq!(first.body, again.body, "{path}");
        let told = again.header("content-encoding");
        assert_eq!(told, (path == "/encoded").then_some("gzip"), "{path}");
        assert_eq!(again.header("vary"), None, "{path}");
    }
    assert_eq!(served.get_with("/picture", &[ALL]).body, random);
    assert_eq!(encodings(&served), 0);
}

#[test]
fn bytes_that_do_not_shrink_stay_as_they_are_and_are_tried_once() {
    let mut seed = 1u64;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 56) as u8
    });
    let noise: Vec<u8> = noise.take(4000).collect();
    let own = noise.clone();
    let origin = Origin::start(move |_| {
        OriginReply::ok(own.clone())
            .header("Cache-Control", "max-age=60")
            .header("Content-Type", "application/json")
    });
    let served = before(&origin, "cache = {}");
    for _ in 0..5 {
        let reply = served.get_with("/", &[GZIP]);
        assert_eq!((reply.header("content-encoding"), &reply.body), (None, &noise));
        assert_eq!(reply.header("vary"), Some("Accept-Encoding"));
    }
    assert_eq!(encodings(&served), 1);
}

#[test]
fn encoded_bodies_have_other_entries_make_room_and_the_index_keeps_step() {
    let body = json(4000);
    let origin = origin(&body);
    let text = route_to(&[&origin], "", "cache = {}") + "[cache]\nbytes = \"200KB\"\n";
    let served = serve(&text);
    let cache = &served.gateway.store;
    for n in 0..50 {
        served.get(&format!("/{n}"));
    }
    let plain = cache.entries();
    for n in 0..50 {
        served.get_with(&format!("/{n}"), &[GZIP]);
        assert!(cache.bytes() <= 200_000, "{} after {n}", cache.bytes());
        assert_eq!(cache.indexed(), cache.entries(), "after {n}");
    }
    assert!(cache.entries() < plain, "{} entries after {plain}", cache.entries());
    let all = PurgeRequest { all: true, ..PurgeRequest::default() };
    let held = cache.entries();
    assert_eq!(served.gateway.purge(&all).map(|purged| purged.entries), Ok(held));
    assert_eq!((cache.entries(), cache.indexed(), cache.bytes()), (0, 0, 0));
}

#[test]
fn encoded_bodies_count_in_the_byte_budget_and_go_with_their_entry() {
    let body = json(4000);
    let origin = origin(&body);
    let text = route_to(&[&origin], "", "cache = {}") + "[cache]\nbytes = \"200KB\"\n";
    let served = serve(&text);
    served.get("/one");
    let plain = served.gateway.store.bytes();
    let mut encoded = 0;
    for accepted in [GZIP, ZSTD, BR] {
        encoded += served.get_with("/one", &[accepted]).body.len() as u64;
        eventually("the count", || served.gateway.store.bytes() >= plain + encoded);
    }
    assert!(served.gateway.store.bytes() < plain + encoded + 2000, "and nothing twice");
    Client::post(served.address, "/one", "x").send();
    assert_eq!(served.gateway.store.bytes(), 0, "nothing of it is left");
    for n in 0..100 {
        for accepted in [GZIP, ZSTD] {
            served.get_with(&format!("/{n}"), &[accepted]);
            let held = served.gateway.store.bytes();
            assert!(held <= 200_000, "{held} after {n}");
        }
    }
    served.gateway.store.clear_memory();
    assert_eq!(served.gateway.store.bytes(), 0);
}

#[test]
fn a_confirmed_entry_keeps_what_was_encoded_of_it() {
    let body = json(4000);
    let (text, version) = (body.clone(), Arc::new(AtomicUsize::new(1)));
    let current = Arc::clone(&version);
    let origin = Origin::start(move |request| {
        let tag = format!("\"v{}\"", current.load(Ordering::SeqCst));
        let reply = match request.header("if-none-match") {
            Some(held) if held == tag => OriginReply::status(304),
            _ => OriginReply::ok(format!("{text}{tag}")).header("Content-Type", "application/json"),
        };
        let nth = request.nth.to_string();
        reply.header("Cache-Control", "no-cache").header("ETag", &tag).header("X-Nth", &nth)
    });
    let served = before(&origin, "cache = {}");
    for nth in ["0", "1", "2"] {
        let reply = served.get_with("/", &[GZIP]);
        assert_eq!(reply.header("content-encoding"), Some("gzip"));
        assert_eq!(decoded(&reply), format!("{body}\"v1\"").into_bytes());
        assert_eq!(reply.header("x-nth"), Some(nth), "the fields are the newest");
        assert_eq!(reply.headers.all("vary").collect::<Vec<_>>(), ["Accept-Encoding"]);
    }
    assert_eq!(encodings(&served), 1);
    assert_eq!(
        origin.requests()[1].header("if-none-match"),
        Some("\"v1\""),
        "the origin's own tag"
    );
    version.store(2, Ordering::SeqCst);
    let changed = served.get_with("/", &[GZIP]);
    assert_eq!(decoded(&changed), format!("{body}\"v2\"").into_bytes());
    assert_eq!((changed.header("etag"), encodings(&served)), (Some("W/\"v2~tg-gzip\""), 2));
}

#[test]
fn a_body_that_names_the_decision_is_encoded_once_for_each() {
    let served = serve(
        "[[route]]\npath = \"/\"\nto = \"model:news\"\ncache = { ttl = \"60s\" }\n\
         personalise = { user = \"cookie:u\", rollout = \"0%\" }\n",
    );
    let users = [("anonymous", "x=1"), ("no-profile", "u=n1"), ("outside-rollout", "u=p1")];
    for _ in 0..3 {
        for (name, cookie) in users {
            let reply = served.get_with("/?long", &[ZSTD, ("Cookie", cookie)]);
            assert_eq!((decision(&reply), reply.header("content-encoding")), (name, Some("zstd")));
            let text = String::from_utf8(decoded(&reply)).unwrap();
            assert!(text.starts_with(&format!("{name} - ")), "{text:.40}");
            assert_eq!(
                text.len(),
                name.len() + served.get("/?long").body.len() - "anonymous".len()
            );
        }
    }
    assert_eq!(encodings(&served), 3);
}

#[test]
fn an_origin_that_encodes_by_itself_is_asked_in_four_ways_however_clients_spell_them() {
    let origin = Origin::start(|request| {
        let accepted = request.header("accept-encoding").unwrap().to_owned();
        let reply = OriginReply::ok(format!("for {accepted}"));
        let reply = reply.header("Cache-Control", "max-age=60").header("Vary", "Accept-Encoding");
        match accepted.split(", ").next().unwrap() {
            "identity" => reply,
            coding => reply.header("Content-Encoding", coding),
        }
    });
    let served = before(&origin, "cache = {}\ncompress = \"off\"");
    for (spelt, asked) in [
        ("gzip, deflate, br, zstd", "zstd, br, gzip"),
        ("zstd,br,gzip;q=0.9", "zstd, br, gzip"),
        ("GZIP,  br", "br, gzip"),
        ("gzip;q=1.0, br;q=1.0, *;q=0.5", "br, gzip"),
        ("gzip", "gzip"),
        ("x-gzip, deflate", "gzip"),
        ("gzip, zstd", "gzip"),
        ("", "identity"),
        ("identity", "identity"),
        ("gzip;q=0", "identity"),
        ("br", "identity"),
    ] {
        let reply = served.get_with("/", &[("Accept-Encoding", spelt)]);
        assert_eq!(reply.text(), format!("for {asked}"), "{spelt}");
    }
    assert_miss(&served.get("/other"));
    assert_hit(&served.get_with("/other", &[("Accept-Encoding", "identity")]));
    assert_eq!(origin.count("/"), 4);
}

#[test]
fn an_origin_that_encodes_unasked_is_passed_on_as_it_is() {
    let body = b"\x1f\x8bnot really gzip".repeat(100);
    let own = body.clone();
    let origin = Origin::start(move |_| {
        OriginReply::ok(own.clone())
            .header("Cache-Control", "max-age=60")
            .header("Content-Type", "text/css")
            .header("Content-Encoding", "gzip")
    });
    let served = before(&origin, "cache = {}");
    for headers in [&[ALL][..], &[], &[BR]] {
        let reply = served.get_with("/", headers);
        assert_eq!((reply.header("content-encoding"), &reply.body), (Some("gzip"), &body));
    }
    assert_eq!((origin.count("/"), encodings(&served)), (1, 0));
}

#[test]
fn only_what_the_route_offers_is_made() {
    let body = json(4000);
    let origin = origin(&body);
    let rules =
        "compress = { encodings = [\"gzip\"], types = [\"application/*\"], bytes_min = \"2KB\" }";
    let served = before(&origin, &format!("cache = {{}}\n{rules}"));
    assert_eq!(served.get_with("/", &[ALL]).header("content-encoding"), Some("gzip"));
    assert_eq!(served.get_with("/", &[BR]).header("content-encoding"), None);
    let off = before(&origin, "cache = {}\ncompress = \"off\"");
    let reply = off.get_with("/", &[ALL]);
    assert_eq!((reply.header("content-encoding"), reply.header("vary")), (None, None));
    assert_eq!(off.gateway.metrics.encoded[Coding::Zstd as usize].get(), 0);
}
