//! Lines of JSON that others write.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::SourceConfig;
use crate::decode::tests::{fields, named};
use crate::decode::{Decoder, Format};

fn read(keys: &[(&str, &str)], line: &str, names: &[&str]) -> Result<Vec<String>, String> {
    let keys: BTreeMap<_, _> =
        keys.iter().map(|(field, key)| ((*field).to_owned(), (*key).to_owned())).collect();
    let format = Format::parse(&SourceConfig { keys, ..named("json") }).unwrap();
    let mut decoder = Decoder::new(&format, Arc::new([]));
    fields(&mut decoder, format!("{line}\n").as_bytes(), names).remove(0)
}

#[test]
fn reads_the_names_of_nginx_and_ours() {
    let line = r#"{ "time_iso8601": "2026-11-21T03:54:12+00:00", "remote_addr": "1.2.3.4",
        "request": "GET /a?b=%31 HTTP/1.1", "status": "404", "body_bytes_sent": 7,
        "request_time": "0.001", "http_x_trace": "t\u00e9", "x": {"a": [1, {"b": "}"}]},
        "user": null, "deep": true }"#;
    let line = line.replace('\n', " ");
    let names = [
        "time",
        "client_ip",
        "method",
        "path",
        "query.b",
        "status",
        "bytes_out",
        "total",
        "header.x-trace",
        "user",
        "var.deep",
        "var.x",
    ];
    let expected = [
        "1795233252000000",
        "1.2.3.4",
        "GET",
        "/a",
        "1",
        "404",
        "7",
        "1000",
        "té",
        "-",
        "true",
        r#"{"a": [1, {"b": "}"}]}"#,
    ];
    assert_eq!(read(&[], &line, &names).unwrap(), expected);
}

#[test]
fn reads_configured_keys() {
    let keys = [("time", "when"), ("path", "url"), ("header.x-a", "a"), ("query.q", "q")];
    let line = r#"{"when":1795233252123,"url":"/p?q=no","a":"A","q":"x%20y"}"#;
    let seen = read(&keys, line, &["time", "path", "header.x-a", "query.q"]).unwrap();
    assert_eq!(seen, ["1795233252123000", "/p", "A", "x y"]);
}

#[test]
fn refuses_what_is_no_object_or_has_no_time() {
    for (line, reason) in [
        ("", "the line ends inside a value"),
        ("[]", "expected an object"),
        ("{}", "field `time` is missing"),
        (r#"{"time":"soon"}"#, "expected a time"),
        (r#"{"time":"2026-11-21T03:54:12Z","status":"x"}"#, "expected a whole number"),
        (r#"{"time":"2026-11-21T03:54:12Z"}{"#, "expected the end of the line"),
        (
            r#"{"time":"2026-11-21T03:54:12Z","a":[}"#,
            "expected a comma or the end of what was opened",
        ),
        (r#"{"time":"2026-11-21T03:54:12Z","a":"\x"}"#, "expected a JSON escape"),
    ] {
        let error = read(&[], line, &["time"]).unwrap_err();
        assert!(error.ends_with(reason), "{error} of {line}");
    }
    let deep = format!(r#"{{"a":{}}}"#, "[".repeat(100_000));
    assert!(read(&[], &deep, &["time"]).is_err());
}

#[test]
fn white_space_stands_wherever_json_has_it() {
    let plain = r#"{"time":"2026-11-21T03:54:12Z","status":200,"path":"/a","x":{"b":[1]}}"#;
    for line in [plain.to_owned(), plain.replace(',', " \t, "), plain.replace("\":", "\" :\t ")] {
        // The second time each key is foretold.
        let both = format!("{line}\n{line} \n");
        let format = Format::parse(&named("json")).unwrap();
        let mut decoder = Decoder::new(&format, Arc::new([]));
        for read in fields(&mut decoder, both.as_bytes(), &["status", "path"]) {
            assert_eq!(read.unwrap(), ["200", "/a"], "{line}");
        }
    }
}

#[test]
fn all_names_of_ours_and_of_nginx_are_keys() {
    let line = concat!(
        r#"{"time":"2026-11-26T11:34:24.604740+0000","total":1500,"request_id":"7f","#,
        r#""upstream_addr":"a:1, b:2","header.user-agent":"ua","header.x-a":"A","arg_q":"x%20y","#,
        r#""query.r":"z","http_host":"e.org"}"#
    );
    let names = [
        "time",
        "total",
        "id",
        "upstream",
        "header.user-agent",
        "header.x-a",
        "query.q",
        "query.r",
        "host",
    ];
    let expected = ["1795692864604740", "1500", "7f", "b:2", "ua", "A", "x y", "z", "e.org"];
    assert_eq!(read(&[], line, &names).unwrap(), expected);
    for (key, value, total) in [
        ("total", "1500", "1500"),
        ("total_us", "1500", "1500"),
        ("total_ms", "1.5", "1500"),
        ("total_ns", "1500000", "1500"),
        ("total_seconds", "0.0015", "1500"),
        ("request_time", "0.0015", "1500"),
        ("total_seconds", "\"1m0.5s\"", "60500000"),
        ("total_seconds", "\"411.487µs\"", "411"),
    ] {
        let line = format!(r#"{{"time":"2026-11-21T03:54:12Z","{key}":{value}}}"#);
        assert_eq!(read(&[], &line, &["total"]).unwrap(), [total], "{line}");
    }
}

#[test]
fn the_total_that_counts_is_read_in_its_own_unit() {
    let time = r#""time":"2026-11-21T03:54:12Z""#;
    for (members, total) in [
        (r#""total_ms":5,"total":1500"#, "1500"),
        (r#""total":1500,"total_ms":5"#, "5000"),
        (r#""total_ms":5,"total_seconds":"-""#, "5000"),
        (r#""total":-1"#, "-"),
        (r#""total_part":0.5,"x":1,"total_part":0.25"#, "750000"),
        (r#""total_part":0.5,"total_part":"-""#, "-"),
    ] {
        let line = format!("{{{time},{members}}}");
        assert_eq!(read(&[], &line, &["total"]).unwrap(), [total], "{line}");
    }
}

#[test]
fn a_status_has_three_digits_and_no_sign() {
    // The second line's keys are foretold.
    for (status, is_one) in [("200", true), ("0", true), ("2000", false), ("-1", false)] {
        let line = format!(r#"{{"time":"2026-11-21T03:54:12Z","path":"/","status":{status}}}"#);
        for name in ["json", "logfmt", "tidegate"] {
            let line = match name {
                "json" => line.clone(),
                "logfmt" => format!("time=2026-11-21T03:54:12Z path=/ status={status}"),
                _ => line.replace("{", "{\"method\":\"GET\","),
            };
            let format = Format::parse(&named(name)).unwrap();
            let mut decoder = Decoder::new(&format, Arc::new([]));
            let both = format!("{line}\n{line}\n");
            for seen in fields(&mut decoder, both.as_bytes(), &["status"]) {
                assert_eq!(seen.is_ok(), is_one, "{line}");
            }
        }
    }
}

#[test]
fn a_refusal_names_the_place_of_what_is_wrong() {
    let time = r#"{"time":"2026-11-21T03:54:12Z","#;
    for (members, wrong) in [
        (r#""a":"bc\x"}"#, r"\x"),
        (r#""a":[1,"bc\x"]}"#, r"\x"),
        (r#""a":1 "b":2}"#, r#""b""#),
        (r#""a":[1}"#, "}"),
        (r#""a":{"b":1]}"#, "]"),
        (r#""a" 1}"#, "1}"),
        (r#""a":}"#, "}"),
        (r#"a:1}"#, "a:1"),
        (r#""a":1}}"#, "}"),
        (r#""status":2x}"#, "2x"),
    ] {
        let line = format!("{time}{members}");
        let place = line.rfind(wrong).unwrap();
        let error = read(&[], &line, &["time"]).unwrap_err();
        assert!(error.contains(&format!("byte {place}:")), "{error} of {line}");
    }
}

#[test]
fn an_object_in_the_place_of_a_time_or_a_number_is_refused_and_of_a_list_the_first_counts() {
    let time = r#""time":"2026-11-21T03:54:12Z""#;
    for (members, reason) in [
        (format!(r#""timestamp":{{}},{time}"#), "expected a time"),
        (format!(r#"{time},"timestamp":[]"#), "expected a time"),
        (format!(r#"{time},"status":{{"a":1}}"#), "expected a whole number"),
        (format!(r#"{time},"bytes_out":[{{}}]"#), "expected a whole number"),
    ] {
        let error = read(&[], &format!("{{{members}}}"), &["time"]).unwrap_err();
        assert!(error.ends_with(reason), "{error} of {members}");
    }
    let line = format!(r#"{{{time},"status":[404,1],"path":["/a","/b"],"user":{{"x":1}}}}"#);
    let seen = read(&[], &line, &["status", "path", "user", "var.user"]).unwrap();
    assert_eq!(seen[..3], ["404", "/a", "-"]);
}
