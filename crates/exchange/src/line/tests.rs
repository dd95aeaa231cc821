//! Claims about `line`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::*;
use crate::exchange::{Exchange, ExchangeRef};
use crate::field::{FieldValue, Fields};
use crate::model::Impression;
use crate::outcome::{CacheResult, Decision};

static IMPRESSION: LazyLock<Impression<'static>> = LazyLock::new(|| Impression {
    model: "news".into(),
    version: "3".into(),
    propensity: 0.25,
    items: ["17", "a\"b"].into_iter().collect(),
});

fn full<'a>() -> ExchangeRef<'a> {
    ExchangeRef {
        time_us: 1_795_233_252_123_456,
        id: 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736,
        method: "GET",
        scheme: "https",
        host: Some(b"news.example:8443"),
        path: b"/1/recommendations.json",
        query: Some(b"place=Antwerp&q=%22"),
        version: "1.1",
        status: 200,
        bytes_in: 0,
        bytes_out: 1840,
        client_ip: Some("10.1.2.0".parse().unwrap()),
        user: Some(b"u\"1"),
        user_agent: Some(b"caf\xe9\n"),
        referer: Some(b"https://news.example/"),
        route: Some("/1/recommendations.{format:json}"),
        decision: Decision::Personalised,
        decision_detail: Some("no-affinity"),
        cache: CacheResult::Miss,
        upstream: Some("model:news"),
        ranked_by: Some(7),
        fetched_by: Some(8),
        phases: [0, 1, 2, 0, 3, 0, 900, 40, 0, 0, 0, 5, 0],
        total_us: 1001,
        impression: Some(&IMPRESSION),
    }
}

fn line(exchange: &ExchangeRef<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    encode(exchange, &mut out);
    out
}

#[test]
fn writes_every_field_in_its_order() {
    let expected = concat!(
        r#"{"time":"2026-11-21T03:54:12.123456Z","id":"4bf92f3577b34da6a3ce929d0e0e4736","#,
        r#""method":"GET","scheme":"https","host":"news.example:8443","#,
        r#""path":"/1/recommendations.json","query":"place=Antwerp&q=%22","version":"1.1","#,
        r#""status":200,"bytes_in":0,"bytes_out":1840,"client_ip":"10.1.2.0","user":"u\"1","#,
        r#""user_agent":"caf\udce9\n","referer":"https://news.example/","#,
        r#""route":"/1/recommendations.{format:json}","decision":"personalised","#,
        r#""decision_detail":"no-affinity","cache":"miss","upstream":"model:news","#,
        r#""ranked_by":"00000000000000000000000000000007","#,
        r#""fetched_by":"00000000000000000000000000000008","total_us":1001,"#,
        r#""phases":{"route":1,"decide":2,"lookup":3,"fetch":900,"queue":40,"respond":5},"#,
        r#""impression":{"model":"news","version":"3","propensity":0.25,"#,
        r#""items":["17","a\"b"]}}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(line(&full())).unwrap(), expected);
}

#[test]
fn leaves_out_what_is_absent() {
    let bare = ExchangeRef { method: "GET", path: b"/", status: 204, ..Default::default() };
    let expected = concat!(
        r#"{"time":"1970-01-01T00:00:00.000000Z","id":"00000000000000000000000000000000","#,
        r#""method":"GET","path":"/","status":204,"bytes_in":0,"bytes_out":0,"#,
        r#""decision":"generic","total_us":0}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(line(&bare)).unwrap(), expected);
    let mut brief = Vec::new();
    encode_brief(&full(), &mut brief);
    let expected = concat!(
        r#"{"time":"2026-11-21T03:54:12.123456Z","id":"4bf92f3577b34da6a3ce929d0e0e4736","#,
        r#""method":"GET","path":"/1/recommendations.json","status":200,"bytes_out":1840,"#,
        r#""user":"u\"1","route":"/1/recommendations.{format:json}","#,
        r#""decision":"personalised","decision_detail":"no-affinity","cache":"miss","#,
        r#""ranked_by":"00000000000000000000000000000007","total_us":1001}"#,
        "\n"
    );
    assert_eq!(String::from_utf8(brief).unwrap(), expected);
}

#[test]
fn decodes_what_it_encodes() {
    let original = full();
    let line = line(&original);
    let decoded = decode(&line).unwrap();
    let expected = Exchange {
        time_us: original.time_us,
        id: original.id,
        method: "GET".into(),
        scheme: "https".into(),
        host: Some(Cow::Borrowed(b"news.example:8443")),
        path: Cow::Borrowed(b"/1/recommendations.json"),
        query: Some(Cow::Borrowed(b"place=Antwerp&q=%22")),
        version: "1.1".into(),
        status: 200,
        bytes_in: 0,
        bytes_out: 1840,
        client_ip: original.client_ip,
        user: Some(Cow::Borrowed(b"u\"1")),
        user_agent: Some(Cow::Borrowed(b"caf\xe9\n")),
        referer: Some(Cow::Borrowed(b"https://news.example/")),
        route: Some("/1/recommendations.{format:json}".into()),
        decision: Decision::Personalised,
        decision_detail: Some("no-affinity".into()),
        cache: CacheResult::Miss,
        upstream: Some("model:news".into()),
        ranked_by: Some(7),
        fetched_by: Some(8),
        phases: original.phases,
        total_us: 1001,
        impression: Some(IMPRESSION.clone()),
    };
    assert_eq!(decoded, expected);
    assert!(matches!(decoded.path, Cow::Borrowed(_)));
}

#[test]
fn an_id_whose_bytes_stand_escaped_and_not_is_read_as_it_was() {
    let line = line(&full());
    let place = line.windows(4).position(|four| four == b"\"17\"").unwrap();
    let odd = [&line[..place], b"\"\xc3\\udca9\"", &line[place + 4..]].concat();
    let impression = decode(&odd).unwrap().impression.unwrap();
    assert_eq!(impression.items.iter().collect::<Vec<_>>(), ["\u{e9}", "a\"b"]);
}

#[test]
fn is_json_for_another_parser_when_the_text_is_utf8() {
    let mut exchange = full();
    exchange.user_agent = Some("caf\u{e9}\u{1}".as_bytes());
    let parsed: serde_json::Value = serde_json::from_slice(&line(&exchange)).unwrap();
    assert_eq!(parsed["user_agent"], "caf\u{e9}\u{1}");
    assert_eq!(parsed["phases"]["fetch"], 900);
    assert_eq!(parsed["impression"]["items"][1], "a\"b");
}

#[test]
fn a_line_feed_stands_only_at_the_end() {
    let hostile: Vec<u8> = (0..=255).collect();
    let mut exchange = full();
    exchange.path = &hostile;
    exchange.query = Some(&hostile);
    exchange.user = Some(&hostile);
    let line = line(&exchange);
    assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
    let decoded = decode(&line).unwrap();
    assert_eq!((&*decoded.path, decoded.user.as_deref()), (&*hostile, Some(&*hostile)));
}

#[test]
fn skips_unknown_fields_and_takes_any_order() {
    let line = br#" { "zz" : {"a":[1,{"b":"}"}],"c":null} , "status":200, "x":-1.5e3, "y":true,
        "path":"/","method":"GET","phases":{"fetch":7,"dream":{}},"z":[],
        "time":"1970-01-01T00:00:01Z" } "#;
    let line: Vec<u8> = line.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
    let exchange = decode(&line).unwrap();
    assert_eq!((exchange.time_us, exchange.status), (1_000_000, 200));
    assert_eq!(exchange.field(&"phase.fetch".parse().unwrap()), Some(FieldValue::Integer(7)));
    assert_eq!(exchange.field(&"phase.wait".parse().unwrap()), None);
}

#[track_caller]
fn check_error(line: &str, expected: &str) {
    let error = decode(line.as_bytes()).unwrap_err();
    assert_eq!(format!("{error}: {}", error.reason), expected);
}

#[test]
fn an_error_names_its_byte() {
    check_error("", "decode line at byte 0: the line ends inside a value");
    check_error("garbage", "decode line at byte 0: expected an object");
    check_error(r#"{"status":"x"}"#, "decode line at byte 10: expected a whole number in range");
    check_error(r#"{"status":70000}"#, "decode line at byte 10: expected a whole number in range");
    check_error(r#"{"time":"soon"}"#, "decode line at byte 8: expected an RFC 3339 time");
    check_error(r#"{"status":2}{"#, "decode line at byte 12: expected the end of the line");
    check_error(r#"{"status":2}"#, "decode line at byte 12: field `time` is missing");
    check_error(r#"{"path":"a\x"}"#, "decode line at byte 10: expected a JSON escape");
    check_error("{\"a\":}", "decode line at byte 5: expected a value");
}

#[test]
fn every_prefix_of_a_line_is_refused() {
    let line = line(&full());
    for length in 0..line.len() - 1 {
        assert!(decode(&line[..length]).is_err(), "{length}");
    }
}

#[test]
fn no_flipped_byte_makes_the_decoder_panic() {
    let line = line(&full());
    for place in 0..line.len() {
        for byte in [0, b'"', b'\\', b'{', b']', b',', 0xff] {
            let mut damaged = line.clone();
            damaged[place] = byte;
            drop(decode(&damaged));
        }
    }
}

#[test]
fn deep_nesting_in_an_unknown_field_is_skipped_without_recursion() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let line =
        format!(r#"{{"x":{deep},"time":"1970-01-01T00:00:01Z","method":"","path":"","status":1}}"#);
    assert_eq!(decode(line.as_bytes()).unwrap().status, 1);
}
