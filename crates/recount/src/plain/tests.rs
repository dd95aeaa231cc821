//! Claims about the plain reader: it and the delivery's scanners find the same in every line,
//! sound or damaged, though they share no code.

use std::collections::BTreeMap;
use std::sync::Arc;

use exchange::{FieldName, Fields};
use pipeline::{Decoder, Format};
use stdx::Random;

use super::{PlainReader, bytes_of};

const COMBINED: &str = concat!(
    r#"192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] "GET /a/b?item=7&q=%C3%A9 HTTP/1.1" "#,
    r#"200 1234 "https://e.org/x" "Mozilla/5.0 (X11)""#,
);
const ODD: &str = concat!(
    r#"2001:db8::1 - ann lee [21/Nov/2026:03:54:12 +0100] "POST "#,
    r#"http://e.org/p\x22q?x=\x41 HTTP/2.0" 404 - "-" "a \"b\" c" 0.042"#,
);
const TIMED: &str =
    r#"192.0.2.7 e.org [2026-11-21T03:54:12+00:00] "GET /a?b=1 HTTP/1.1" 200 12 0.042 "HIT" t1"#;
const TIMED_FORMAT: &str = concat!(
    r#"$remote_addr $host [$time_iso8601] "$request" $status $body_bytes_sent "#,
    r#"$request_time "$upstream_cache_status" $http_x_tenant"#,
);
const LTSV: &str = concat!(
    "time:21/Nov/2026:03:54:12 +0000\thost:192.0.2.7\treq:GET /a?b=1 HTTP/1.1\t",
    "status:200\tsize:12\treqtime:0.042\tua:x\ttenant:t1\tuser:-",
);
const JSON: &str = concat!(
    r#"{"time":"2026-11-21T03:54:12Z","remote_addr":"192.0.2.7","url":"/a?b=1","#,
    r#""status":200,"bytes":12,"request_time":0.042,"http_x_tenant":"t1","#,
    r#""nothing":null,"phases":{"fetch":7},"n":-1.5}"#,
);
const JOURNAL: &str = concat!(
    r#"{"time":"2026-11-21T03:54:12.000123Z","id":"0000000000000000000000000000002a","#,
    r#""method":"GET","host":"e.org","path":"/a","query":"b=1&item=9","status":200,"#,
    r#""bytes_out":12,"client_ip":"192.0.2.7","user":"ann","route":"r","#,
    r#""decision":"personalised","cache":"hit","total_us":42,"phases":{"fetch":7},"#,
    r#""impression":{"model":"m","version":"1","propensity":0.5,"items":["a"]}}"#,
);

const FIELDS: [&str; 31] = [
    "time",
    "id",
    "method",
    "scheme",
    "host",
    "path",
    "query",
    "query.item",
    "query.b",
    "query.q",
    "version",
    "status",
    "bytes_in",
    "bytes_out",
    "client_ip",
    "user",
    "header.user-agent",
    "header.referer",
    "header.x-tenant",
    "route",
    "decision",
    "cache",
    "upstream",
    "ranked_by",
    "phase.fetch",
    "total",
    "model",
    "model_version",
    "propensity",
    "var.tenant",
    "var.n",
];

fn formats() -> Vec<(Format, Vec<&'static str>)> {
    let none = BTreeMap::new();
    let format = |text: &str| Format::parse(text, None, &none).unwrap();
    let keys = [("path", "url"), ("bytes_out", "bytes")];
    let keys = keys.map(|(field, key)| (field.to_owned(), key.to_owned())).into();
    let common = COMBINED.split(" \"https").next().unwrap();
    vec![
        (format("combined"), vec![COMBINED, ODD]),
        (format("common"), vec![COMBINED, common, ODD]),
        (format("ltsv"), vec![LTSV]),
        (format("tidegate"), vec![JOURNAL]),
        (Format::parse("json", None, &keys).unwrap(), vec![JSON]),
        (format(TIMED_FORMAT), vec![TIMED]),
    ]
}

/// What one field is in a line, as text; none for what is absent or no line.
fn shown(fields: &impl Fields, name: &FieldName) -> Option<String> {
    fields.field(name).map(|value| String::from_utf8_lossy(&bytes_of(value)).into_owned())
}

/// The names of fields that the two find different in a line; `line` where only one takes it.
fn differences(format: &Format, line: &[u8]) -> Vec<String> {
    let names: Vec<FieldName> = FIELDS.iter().map(|name| name.parse().unwrap()).collect();
    let plain = PlainReader::new(format, Arc::default());
    let plain = plain.read(line);
    let mut wrong = Vec::new();
    let mut decoder = Decoder::new(format, Arc::default());
    decoder.each(&[line, b"\n"].concat(), |_, _, outcome| match (&outcome, &plain) {
        (Ok(event), Some(line)) => {
            for (name, text) in names.iter().zip(FIELDS) {
                let (fast, slow) = (shown(*event, name), shown(line, name));
                if fast != slow {
                    wrong.push(format!("{text}: {fast:?}, plainly {slow:?}"));
                }
            }
        }
        (Err(_), None) => {}
        (Ok(_), None) => wrong.push("line: plainly refused".to_owned()),
        (Err(error), Some(_)) => wrong.push(format!("line: refused ({error}), plainly not")),
    });
    wrong
}

#[test]
fn sound_lines_have_the_same_fields() {
    for (format, lines) in formats() {
        for line in lines {
            assert_eq!(differences(&format, line.as_bytes()), [""; 0], "{line}");
            assert!(
                PlainReader::new(&format, Arc::default()).read(line.as_bytes()).is_some(),
                "{line}"
            );
        }
    }
}

#[test]
fn damaged_lines_are_refused_by_both_or_neither() {
    let mut random = Random::new(7);
    let mut wrong = Vec::new();
    for (format, lines) in formats() {
        for turn in 0..2000 {
            let mut line = lines[turn % lines.len()].as_bytes().to_vec();
            for _ in 0..=random.up_to(1) {
                let at = random.up_to(line.len() as u64 - 1) as usize;
                match random.up_to(4) {
                    0 => line.truncate(at.max(1)),
                    1 => line[at] = b" \"\\[]-:?x0\t{},"[random.up_to(13) as usize],
                    2 => drop(line.remove(at)),
                    3 => line.insert(at, b" \"\\[]-:?x0\t{},"[random.up_to(13) as usize]),
                    _ => {
                        // Two lines in one.
                        let other = lines[0].as_bytes();
                        line.truncate(at.max(1));
                        line.extend_from_slice(other);
                    }
                }
            }
            if line.contains(&b'\n') || line.is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            let new = differences(&format, &line);
            wrong.extend(new.into_iter().map(|what| format!("{what} in {text}")));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
