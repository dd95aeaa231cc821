//! Lines that servers really wrote: what is absent in them, cut off, escaped or older.

use super::{claim, read};
use crate::config::SourceConfig;
use crate::decode::tests::{fields, named};
use crate::decode::{Decoder, Format};

const NGINX_400: &str = "127.0.0.1 - - [26/Nov/2026:11:34:27 +0000] \"-\" 408 0 \"-\" \"-\"";

#[test]
fn a_dash_and_nothing_mean_that_method_and_path_are_absent_in_each_format() {
    let absent = [("method", "-"), ("path", "-"), ("query", "-")];
    let envoy = "[2026-11-26T11:34:24.841Z] \"- - HTTP/1.1\" 400 DPE 0 11 0 - \"-\" \"-\" \"-\" \
                 \"-\" \"-\"";
    let alb = "http 2018-11-30T22:23:00.186641Z app/my-lb/50dc 192.168.131.39:2817 - -1 -1 -1 400 \
               - 34 366 \"- http://www.e.org:80- -\" \"-\" - - - \"-\" \"-\" \"-\" - \
               2018-11-30T22:22:48.364000Z \"-\" \"-\" \"-\"";
    let haproxy = "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] in in/<NOSRV> -1/-1/-1/-1/8490 400 0 \
                   - - CR-- 2/2/2/0/0 0/0 \"<BADREQ>\"";
    for (name, line) in [
        ("combined", NGINX_400),
        ("combined", &NGINX_400.replace("\"-\" 408", "\"\" 400")),
        ("common", &NGINX_400.replace(" \"-\" \"-\"", "")),
        ("vhost_combined", &format!("e.org:80 {NGINX_400}")),
        ("envoy", envoy),
        ("alb", alb),
        ("haproxy", haproxy),
        ("json", r#"{"time":"2026-11-26T11:34:24Z","request":"","uri":"-","path":"-"}"#),
        ("logfmt", "time=2026-11-26T11:34:24Z method=- path= request=\"-\""),
        ("w3c", "#Fields: date time cs-method cs-uri-stem cs-uri-query\n2020-05-01 00:00:02 - - -"),
    ] {
        claim(name, line, &absent);
    }
    claim("alb", alb, &[("host", "www.e.org:80"), ("scheme", "http"), ("upstream", "-")]);
    claim("haproxy", haproxy, &[("upstream", "-"), ("status", "400")]);
    claim("envoy", envoy, &[("version", "1.1"), ("status", "400")]);
}

#[test]
fn an_absolute_target_gives_scheme_and_host_however_it_is_written() {
    for (target, expected) in [
        ("http://e.org/a?b=1", ["http", "e.org", "/a", "b=1"]),
        ("HTTP://e.org/a", ["http", "e.org", "/a", "-"]),
        ("HttpS://ann:secret@e.org:8443/a", ["https", "e.org:8443", "/a", "-"]),
        ("http://e.org", ["http", "e.org", "-", "-"]),
        ("http://e.org?b=1", ["http", "e.org", "-", "b=1"]),
        ("http://e.org/-", ["http", "e.org", "/-", "-"]),
        ("ftp://e.org/a", ["-", "-", "ftp://e.org/a", "-"]),
        ("/http://e.org/a", ["-", "-", "/http://e.org/a", "-"]),
        ("*", ["-", "-", "*", "-"]),
    ] {
        let line = NGINX_400.replace("\"-\" 408", &format!("\"GET {target} HTTP/1.1\" 200"));
        let seen = read("combined", &line, &["scheme", "host", "path", "query"]);
        assert_eq!(seen, [Ok(expected.map(str::to_owned).to_vec())], "{target}");
    }
}

const HAPROXY: &str = "::1:41584 [26/Nov/2026:11:34:24.516] fe_main be/s1 0/0/11/6/96 200 111 - - \
    ---- 1/1/0/0/0 0/0 {Mozilla #22q#22 \\x41 \\end|Example.test:8080} {a b#22c} \"GET /a#23b \
    HTTP/1.1\"";

#[test]
fn haproxy_writes_escapes_of_its_own_and_captures_without_the_space_behind_them() {
    claim(
        "haproxy",
        HAPROXY,
        &[
            ("client_ip", "::1"),
            ("var.captures", "{Mozilla \"q\" \\x41 \\end|Example.test:8080} {a b\"c}"),
            ("path", "/a#b"),
        ],
    );
}

#[test]
fn haproxy_may_log_before_the_end_and_cut_a_long_request() {
    let asap = "127.0.0.1:43622 [26/Nov/2026:12:11:39.629] f b/s1 0/0/1001/547/+1548 200 +105 - - \
                ---- 1/1/1/1/1 0/0 \"GET /slow HTTP/1.1\"";
    claim("haproxy", asap, &[("total", "1548000"), ("bytes_out", "105"), ("path", "/slow")]);
    let path = format!("/{}", "l".repeat(800));
    let cut = asap.replace("/slow HTTP/1.1\"", &path);
    claim("haproxy", &cut, &[("method", "GET"), ("path", &path), ("version", "-")]);
    claim("haproxy", &asap.replace(" f b/", " +f +b/"), &[("var.frontend", "+f")]);
    let nginx = "::1 [21/Nov/2026:03:54:12 +0000] +105";
    assert!(read("$remote_addr [$time_local] $bytes_sent", nginx, &["time"])[0].is_err());
    for wrong in [
        asap.strip_suffix('"').unwrap().to_owned(),
        asap.replace("0/0/1001/547", "0/0/1001/5x"),
        asap.replace("1/1/1/1/1", "1/1/x/1/1"),
        asap.replace("+105", "+-105"),
        format!("{cut}{asap}"),
    ] {
        assert!(read("haproxy", &wrong, &["path"])[0].is_err(), "{wrong}");
    }
    let text = [asap.replace("/1001/", "/1\u{1}/").as_bytes(), b"\n"].concat();
    let text: Vec<u8> = text.into_iter().map(|byte| if byte == 1 { 0xfe } else { byte }).collect();
    let mut decoder = crate::decode::tests::decoder("haproxy");
    assert!(fields(&mut decoder, &text, &["path"])[0].is_err());
}

#[test]
fn programs_that_do_not_escape_are_not_unescaped() {
    claim(
        "envoy",
        "[2026-11-26T11:34:24.751Z] \"GET /q\"uo'te\\x41 HTTP/1.1\" 200 - 0 6 32 31 \"-\" \
         \"Mozilla \
         \"quoted\" \\back\\ end\" \"b5147b7d\" \"e.org\" \"127.0.0.1:23800\"",
        &[
            ("path", "/q\"uo'te\\x41"),
            ("header.user-agent", "Mozilla \"quoted\" \\back\\ end"),
            ("id", "b5147b7d"),
        ],
    );
    claim(
        "traefik",
        "127.0.0.1 - - [26/Nov/2026:11:34:23 +0000] \"GET /ok HTTP/1.1\" 200 6 \
         \"http://r.test/?q=\\\"a b\\\"\" \"Mozilla \\\"quoted\\\" \\back\\x22 end\" 1 \"all@file\" \
         \"http://127.0.0.1:23800\" 1ms",
        &[
            ("header.referer", "http://r.test/?q=\"a b\""),
            ("header.user-agent", "Mozilla \"quoted\" \\back\\x22 end"),
            ("total", "1000"),
        ],
    );
    claim(
        "cri",
        "2016-10-06T00:17:09.669794202Z stdout F \\x41 \"a",
        &[("var.message", "\\x41 \"a")],
    );
    let apache = NGINX_400.replace("\"-\" \"-\"", "\"a\\tb\" \"\\\"q\\\" \\\\x\"");
    claim("combined", &apache, &[("header.referer", "a\tb"), ("header.user-agent", "\"q\" \\x")]);
}

#[test]
fn lighttpd_writes_spaces_for_a_request_that_it_did_not_understand() {
    // TLS on a plain port, and names with a space, as lighttpd 1.4.69 wrote them.
    let line = "127.0.0.1 - - [26/Nov/2026:15:43:07 +0000] \"  \" 400 345 \"-\" \"-\"";
    claim(
        "lighttpd",
        line,
        &[("host", "-"), ("method", "-"), ("path", "-"), ("version", "-"), ("status", "400")],
    );
    let named = "127.0.0.1 [::1]:48391 ann lee [26/Nov/2026:15:43:07 +0000] \"GET \
                 /a[0]?b[]=\\\"1\\\" HTTP/1.1\" 404 341 \"-\" \"-\"";
    let expected = [("host", "[::1]:48391"), ("user", "ann lee"), ("query", "b[]=\"1\"")];
    claim("lighttpd", named, &expected);
    for wrong in [
        line.replace("127.0.0.1 - - [", "127.0.0.1 - ["),
        line.replace("\"-\" \"-\"", "\"-\""),
        format!("{line} x"),
        format!("{}{line}", line.strip_suffix('"').unwrap()),
    ] {
        assert!(read("lighttpd", &wrong, &["status"])[0].is_err(), "{wrong}");
    }
}

#[test]
fn squid_may_have_headers_behind_the_type_and_nothing_else() {
    let line = "1795692864.869      1 127.0.0.1 TCP_MISS/200 252 GET http://e.org/ok - \
                HIER_DIRECT/127.0.0.1 text/plain";
    claim("squid", line, &[("var.content_type", "text/plain"), ("var.mime_headers", "-")]);
    let tail = "[User-Agent: x \"y\" \\\\back\\r\\n] [HTTP/1.1 200 OK\\r\\n\\r\\n]";
    claim(
        "squid",
        &format!("{line} {tail}"),
        &[("var.content_type", "text/plain"), ("var.mime_headers", tail)],
    );
    for wrong in [format!("{line} x"), format!("{line} [x"), format!("{line} {line}")] {
        assert!(read("squid", &wrong, &["status"])[0].is_err(), "{wrong}");
    }
    let late = line.replace("1795692864.869", "1795692864869000.5");
    assert!(read("squid", &late, &["time"])[0].is_err(), "beyond the year 9999");
}

pub(super) const ALB: &str = "https 2018-07-02T22:23:00.186641Z app/lb/50dc \
    [2001:db8::7]:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 \
    \"GET https://www.example.com:443/a?b=1 HTTP/1.1\" \
    \"curl/7.46.0\" ECDHE TLSv1.2 arn:aws \"Root=1\" \"www.example.com\" \"arn:aws\" 1 \
    2018-07-02T22:22:48.364000Z \"forward\" \"-\" \"-\"";
pub(super) const S3: &str = "79a5 bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5 3E57 \
    REST.GET.VERSIONING - \"GET /bucket1?versioning HTTP/1.1\" 200 - 113 - 7 - \"-\" \
    \"S3Console/0.4\" - s9lz= SigV4 ECDHE AuthHeader bucket1.s3.amazonaws.com TLSV1.2";

#[test]
fn no_missing_column_shifts_the_others() {
    for (name, line) in [("alb", ALB), ("s3", S3)] {
        let whole = read(name, line, &["status", "host"]);
        assert!(whole[0].is_ok(), "{line}: {whole:?}");
        let columns = columns(line);
        let needed = if name == "alb" { 19 } else { 18 };
        for missing in 0..needed {
            for count in 1..=3 {
                let (head, tail) = (&columns[..missing], columns.get(missing + count..));
                let shifted = [head, tail.unwrap_or_default()].concat().join(" ");
                let seen = read(name, &shifted, &["status", "path", "host"]);
                assert!(seen[0].is_err(), "{shifted}: {seen:?}");
            }
        }
    }
}

/// The columns of a line, with their quotes and brackets.
fn columns(line: &str) -> Vec<&str> {
    let (mut columns, mut start, mut is_open) = (Vec::new(), 0, false);
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => is_open = !is_open,
            b'[' if line[at..].starts_with("[06") => is_open = true,
            b']' => is_open = false,
            b' ' if !is_open => {
                columns.push(&line[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    columns.push(&line[start..]);
    columns
}

#[test]
fn aws_writes_addresses_in_brackets_and_wrote_fewer_columns() {
    claim("alb", ALB, &[("client_ip", "2001:db8::7"), ("var.rule_priority", "1")]);
    let old = &S3[..S3.find(" SigV4").unwrap()];
    claim("s3", old, &[("status", "200"), ("host", "-"), ("var.host_id", "s9lz=")]);
    let before_host = &ALB[..ALB.find(" \"www.").unwrap()];
    assert!(read("alb", before_host, &["status"])[0].is_err());
    let with_host = &ALB[..ALB.find(" \"arn:").unwrap()];
    claim("alb", with_host, &[("host", "www.example.com")]);
}

#[test]
fn a_zone_serves_times_of_rfc_3339_that_say_none() {
    let config = SourceConfig {
        time_format: Some("rfc3339".to_owned()),
        zone: Some("+01:00".to_owned()),
        ..named("json")
    };
    let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
    let text = "{\"time\":\"2026-11-21T04:54:12\"}\n{\"time\":\"2026-11-21T03:54:12Z\"}\n";
    let seen = fields(&mut decoder, text.as_bytes(), &["time"]);
    let time = || Ok(vec!["1795233252000000".to_owned()]);
    assert_eq!(seen, [time(), time()]);
    let config = SourceConfig { zone: Some("+14:30".to_owned()), ..config };
    assert_eq!(Format::parse(&config).unwrap_err()[0].0, "zone");
}

#[test]
fn docker_ends_a_text_with_a_line_feed_that_is_none_of_it() {
    for (log, text) in [
        (r"a\n", "a"),
        (r"a\r\n", "a"),
        (r"a\\n", "a\\n"),
        (r"a\\\n", "a\\"),
        ("a", "a"),
        (r"a\n\n", "a\n"),
    ] {
        let line = format!(r#"{{"log":"{log}","time":"2019-01-01T11:11:11Z"}}"#);
        claim("docker", &line, &[("var.log", text)]);
    }
}

#[test]
fn exactly_one_carriage_return_ends_a_line() {
    for (wrapper, head) in [("", ""), ("cri", "2016-10-06T00:17:09.669794202Z stdout F ")] {
        let wrapper = Some(wrapper.to_owned()).filter(|name| !name.is_empty());
        let config = SourceConfig { wrapper, ..named("combined") };
        let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
        let text = format!("{head}{NGINX_400}\r\n{head}{NGINX_400}\r\r\n");
        let seen = fields(&mut decoder, text.as_bytes(), &["status"]);
        assert!(seen[0].is_ok() && seen[1].is_err(), "{seen:?}");
    }
}

#[test]
fn the_durations_of_caddy_are_seconds_text_or_what_a_key_says() {
    let line = r#"{"ts":1646861401.5,"request":{"uri":"/"},"duration":D,"status":200}"#;
    for (duration, total) in [("0.0015", "1500"), ("\"411.487µs\"", "411"), ("\"1.5s\"", "1500000")]
    {
        claim("caddy", &line.replace('D', duration), &[("total", total)]);
    }
    let keys = [("total_ms".to_owned(), "duration".to_owned())].into();
    let config = SourceConfig { keys, ..named("caddy") };
    let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
    let text = line.replace('D', "1.5") + "\n";
    let seen = fields(&mut decoder, text.as_bytes(), &["total"]);
    assert_eq!(seen, [Ok(vec!["1500".to_owned()])]);
}
