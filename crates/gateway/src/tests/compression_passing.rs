//! Claims about private responses that are encoded as they are sent.

use std::process::Command;

use testkit::{Absent, Client, Gate, Origin, OriginReply, require, skip};

use super::compression::{ALL, BR, GZIP, ZSTD, decoded, encodings, json};
use super::{before, serve};

fn plain_json(body: &str) -> OriginReply {
    OriginReply::ok(body).header("Content-Type", "application/json")
}

#[test]
fn streams_are_encoded_as_they_pass_whatever_their_framing() {
    let body = json(200_000);
    let own = body.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/chunked" => plain_json(&own).chunked(7000),
        "/closed" => plain_json(&own).close(),
        _ => plain_json(&own),
    });
    let served = before(&origin, "");
    for path in ["/length", "/chunked", "/closed"] {
        for accepted in [BR, GZIP, ZSTD] {
            let reply = served.get_with(path, &[accepted]);
            assert_eq!(reply.header("content-encoding"), Some(accepted.1), "{path}");
            assert_eq!(decoded(&reply), body.as_bytes(), "{path} {accepted:?}");
            assert!(reply.body.len() * 2 < body.len(), "{accepted:?}: {}", reply.body.len());
            assert_eq!(reply.header("vary"), Some("Accept-Encoding"));
        }
        assert_eq!(served.get(path).text(), body);
        assert_eq!(served.get(path).header("vary"), Some("Accept-Encoding"));
    }
    let asked = origin.requests()[0].header("accept-encoding").map(str::to_owned);
    assert_eq!(asked.as_deref(), Some("br"), "the origin may encode by itself");
}

#[test]
fn answers_that_turn_out_not_to_be_storable_are_encoded_too() {
    let body = json(5000);
    let own = body.clone();
    let origin = Origin::start(move |_| plain_json(&own).header("Cache-Control", "private"));
    let served = before(&origin, "cache = {}");
    let reply = served.get_with("/", &[ALL]);
    assert_eq!((reply.header("content-encoding"), decoded(&reply)), (Some("zstd"), body.into()));
    let large = json(300_000);
    let own = large.clone();
    let origin = Origin::start(move |_| plain_json(&own).header("Cache-Control", "max-age=60"));
    let served = before(&origin, "cache = { body_bytes_max = \"100KB\" }");
    let reply = served.get_with("/", &[GZIP]);
    assert_eq!((reply.header("content-encoding"), decoded(&reply)), (Some("gzip"), large.into()));
}

#[test]
fn a_truncated_answer_never_looks_whole() {
    let body = json(100_000);
    let origin = Origin::start(move |request| match request.path() {
        "/chunked" => plain_json(&body).chunked(4000).close_mid_body(60_000),
        _ => plain_json(&body).close_mid_body(60_000),
    });
    for route in ["", "cache = { ttl = \"60s\" }"] {
        let served = before(&origin, route);
        for (path, accepted) in
            ["/length", "/chunked"].into_iter().flat_map(|p| [BR, GZIP, ZSTD].map(|a| (p, a)))
        {
            let mut client = Client::connect(served.address).unwrap();
            let head =
                format!("GET {path} HTTP/1.1\r\nHost: a\r\n{}: {}\r\n\r\n", accepted.0, accepted.1);
            client.write_raw(head.as_bytes()).unwrap();
            let answer = client.read_reply("GET");
            let is_broken = answer.as_ref().map_or(true, |reply| reply.status == 502);
            assert!(is_broken, "{route} {path} {accepted:?}: {answer:?}");
            // HTTP/1.0 has no framing that shows the early end, so the coding must show it.
            let mut client = Client::connect(served.address).unwrap();
            client.write_raw(head.replace("HTTP/1.1", "HTTP/1.0").as_bytes()).unwrap();
            let raw = client.read_to_close().unwrap_or_default();
            let start =
                raw.windows(4).position(|w| w == b"\r\n\r\n").map_or(raw.len(), |at| at + 4);
            let mut out = Vec::new();
            let whole = match accepted.1 {
                _ if raw.starts_with(b"HTTP/1.1 502") => false,
                "zstd" => zstd::stream::decode_all(&raw[start..]).is_ok(),
                "gzip" => {
                    let mut decoder = flate2::read::GzDecoder::new(&raw[start..]);
                    std::io::copy(&mut decoder, &mut out).is_ok()
                }
                _ => {
                    let mut decoder = brotli::Decompressor::new(&raw[start..], 4096);
                    std::io::copy(&mut decoder, &mut out).is_ok()
                }
            };
            assert!(!whole, "{route} {path} {accepted:?} looks whole");
        }
        assert_eq!(served.gateway.store.entries(), 0);
    }
}

#[test]
fn what_has_come_of_a_stream_is_brought_out_when_the_upstream_pauses() {
    let gate = Gate::new();
    let own = gate.clone();
    // The first chunk comes at once; the gate holds only the other response.
    let origin = Origin::start(move |request| match request.path() {
        "/gate" => OriginReply::status(204).after(&own),
        _ => OriginReply::ok("").raw(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n\
             5\r\nfirst\r\n",
        ),
    });
    let served = before(&origin, "");
    for accepted in [BR, GZIP, ZSTD] {
        let mut client = Client::connect(served.address).unwrap();
        let head = format!("GET / HTTP/1.0\r\n{}: {}\r\n\r\n", accepted.0, accepted.1);
        client.write_raw(head.as_bytes()).unwrap();
        let raw = client.read_to_close().unwrap();
        let start = raw.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
        let mut out = Vec::new();
        let read = |reader: &mut dyn std::io::Read, out: &mut Vec<u8>| {
            let mut byte = [0];
            while let Ok(1) = reader.read(&mut byte) {
                out.push(byte[0]);
            }
        };
        match accepted.1 {
            "zstd" => read(&mut zstd::stream::Decoder::new(&raw[start..]).unwrap(), &mut out),
            "gzip" => read(&mut flate2::read::GzDecoder::new(&raw[start..]), &mut out),
            _ => read(&mut brotli::Decompressor::new(&raw[start..], 16), &mut out),
        }
        assert_eq!(String::from_utf8_lossy(&out), "first", "{accepted:?}");
    }
    gate.open();
}

#[test]
fn a_models_own_answers_are_encoded() {
    let served = serve(
        "[[route]]\npath = \"/\"\nto = \"model:news\"\npersonalise = { user = \"cookie:u\" }\n",
    );
    let user = ("Cookie", "u=p1");
    let plain = served.get_with("/?long", &[user]);
    let reply = served.get_with("/?long", &[user, ALL]);
    assert_eq!(reply.header("content-encoding"), Some("zstd"));
    assert_eq!(decoded(&reply), plain.body);
    assert_eq!(reply.header("content-length"), Some(&*reply.body.len().to_string()));
    assert_eq!(served.get_with("/", &[user, ALL]).header("content-encoding"), None, "too short");
}

#[test]
fn a_page_of_another_site_learns_no_sizes_of_encoded_answers() {
    let origin = Origin::start(|_| plain_json(&json(5000)));
    let cors = "cors = { origins = [\"https://friend\"], credentials = true }";
    let served = before(&origin, cors);
    let site = |name: &'static str| ("Sec-Fetch-Site", name);
    let user = ("Cookie", "session=1");
    for (headers, is_encoded) in [
        (&[site("cross-site"), user][..], false),
        (&[site("cross-site"), ("Authorization", "Basic eDp5")], false),
        (&[site("cross-site"), user, ("Origin", "https://foe")], false),
        (&[site("cross-site"), user, ("Origin", "https://friend")], true),
        (&[site("cross-site"), user, ("Sec-Fetch-User", "?1")], true),
        (&[site("cross-site")], true),
        (&[site("same-origin"), user], true),
        (&[site("same-site"), user], true),
        (&[site("none"), user], true),
        (&[user], true),
    ] {
        let headers = [&[ALL], headers].concat();
        let reply = served.get_with("/", &headers);
        assert_eq!(reply.header("content-encoding").is_some(), is_encoded, "{headers:?}");
    }
}

#[test]
fn nor_does_it_of_a_users_stored_answer() {
    let served = serve(
        "[[route]]\npath = \"/\"\nto = \"model:news\"\npersonalise = { user = \"cookie:u\" }\n\
         cache = { ttl = \"60s\", per_user = true }\n",
    );
    let foreign = ("Sec-Fetch-Site", "cross-site");
    let coding = |headers: &[(&str, &str)]| {
        let reply = served.get_with("/?long", headers);
        reply.header("content-encoding").map(str::to_owned)
    };
    assert_eq!(coding(&[ALL, ("Cookie", "u=p1")]).as_deref(), Some("zstd"));
    assert_eq!(coding(&[ALL, ("Cookie", "u=p1"), foreign]), None);
    let everybodys = [ALL, ("Cookie", "u=n1"), foreign];
    assert_eq!(coding(&everybodys).as_deref(), Some("zstd"), "no secret is in it");
}

#[test]
fn the_origin_gets_its_own_tags_back_in_conditions() {
    let origin = Origin::start(|request| match &*request.method {
        "PUT" => OriginReply::status(204),
        _ => match request.header("if-none-match") {
            Some("\"v1\"" | "W/\"v1\"") => OriginReply::status(304).header("ETag", "\"v1\""),
            _ => plain_json(&json(5000)).header("ETag", "\"v1\"").header("Accept-Ranges", "bytes"),
        },
    });
    let served = before(&origin, "");
    let reply = served.get_with("/", &[GZIP]);
    let tag = reply.header("etag").unwrap();
    assert_eq!((tag, reply.header("accept-ranges")), ("W/\"v1~tg-gzip\"", None));
    let unchanged = served.get_with("/", &[GZIP, ("If-None-Match", tag)]);
    assert_eq!((unchanged.status, unchanged.header("etag")), (304, Some(tag)));
    assert_eq!(unchanged.header("vary"), Some("Accept-Encoding"));
    Client::call(served.address, "PUT", "/").header("If-Match", tag).body("x").send();
    let put = origin.requests().pop().unwrap();
    assert_eq!(put.header("if-match"), Some("\"v1\""), "strong, as the origin gave it");
    served.get_with("/", &[("Range", "bytes=0-9"), ("If-Range", tag)]);
    let ranged = origin.requests().pop().unwrap();
    assert_eq!(ranged.header("if-range"), Some(tag), "an encoded part continues nothing");
}

#[test]
fn parts_and_heads_pass_as_they_are() {
    let body = json(5000);
    let own = body.clone();
    let origin = Origin::start(move |request| match request.header("range") {
        Some(_) => OriginReply::status(206)
            .body(&own[..2000])
            .header("Content-Type", "application/json")
            .header("Content-Range", "bytes 0-1999/5000"),
        None => plain_json(&own),
    });
    let served = before(&origin, "");
    let part = served.get_with("/", &[ALL, ("Range", "bytes=0-1999")]);
    assert_eq!((part.status, part.text()), (206, &body[..2000]));
    assert_eq!((part.header("content-encoding"), part.header("vary")), (None, None));
    let head = Client::call(served.address, "HEAD", "/").header(ALL.0, ALL.1).send();
    assert_eq!(head.header("content-encoding"), None);
    assert_eq!(head.header("content-length"), Some(&*body.len().to_string()));
    assert_eq!(head.header("vary"), Some("Accept-Encoding"));
    assert_eq!(encodings(&served), 0);
}

#[test]
fn curl_reads_every_coding_stored_and_streamed() {
    let Some(curl) = require("curl", Absent::Skip) else { return };
    let version = Command::new(&curl).arg("--version").output().unwrap().stdout;
    let version = String::from_utf8_lossy(&version).into_owned();
    let body = json(4000);
    let own = body.clone();
    let origin = Origin::start(move |request| match request.path() {
        "/stored" => plain_json(&own).header("Cache-Control", "max-age=60"),
        _ => plain_json(&own).chunked(7000),
    });
    let served = before(&origin, "cache = {}");
    for (coding, library) in [("gzip", "zlib"), ("br", "brotli"), ("zstd", "zstd")] {
        if !version.contains(library) {
            skip(&format!("curl was built without {library}"));
            continue;
        }
        for path in ["stored", "streamed"] {
            let url = format!("http://{}/{path}", served.address);
            let accepted = format!("Accept-Encoding: {coding}");
            let asking = ["-sS", "--compressed", "-H", &accepted, "-w", "%{size_download}", &url];
            let said = Command::new(&curl).args(asking).output().unwrap();
            let text = String::from_utf8(said.stdout).unwrap();
            let bytes = text.strip_prefix(&body).unwrap_or_else(|| panic!("{coding} {path}"));
            assert!(bytes.parse::<usize>().unwrap() * 2 < body.len(), "{coding} {path}: {bytes}");
        }
    }
}
