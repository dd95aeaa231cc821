//! Claims about the plain reader: it and the delivery's scanners find the same in every line,
//! sound or damaged, though they share no code.

use std::sync::Arc;

use exchange::{FieldName, Fields};
use pipeline::{Decoder, Format, SourceConfig};
use stdx::Random;

use super::{PlainOutcome, PlainReader, bytes_of};

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

const INGRESS: &str = concat!(
    r#"10.2.3.4 - - [21/Nov/2026:03:54:12 +0000] "GET /a?b=1 HTTP/1.1" 200 612 "-" "curl/7.68.0" "#,
    "83 2.004 [default-web-80] [] 10.0.0.5:8080, 10.0.0.6:8080 : 10.0.0.7:80 0, - : 612 ",
    "2.000, - : 0.004 502, 504 : 200 6e0d5a",
);
const VHOST: &str = concat!(
    "www.e.org:443 192.0.2.7 - ann [21/Nov/2026:03:54:12 +0000] ",
    r#""GET /a HTTP/1.1" 304 - "-" "Mozilla/5.0 (X11)""#,
);
const HAPROXY: &str = concat!(
    "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ",
    r#"---- 1/1/1/1/0 0/0 {1wt.eu} {} "GET /index.html HTTP/1.1""#,
);
const HAPROXY_SYSLOG: &str = concat!(
    "<134>Feb  6 12:14:14 localhost haproxy[14389]: [::1]:33317 [06/Feb/2009:12:14:14.655] ",
    r#"http-in http-in/<NOSRV> -1/-1/-1/-1/+8490 -1 0 - - CR-- 2/2/2/0/0 0/0 "<BADREQ>""#,
);
const TRAEFIK: &str = concat!(
    r#"192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] "GET /a HTTP/1.1" 200 12 "-" "curl/8" 7 "#,
    r#""web@docker" "http://172.17.0.2:80" 3ms"#,
);
const TRAEFIK_JSON: &str = concat!(
    r#"{"ClientHost":"10.0.0.1","ClientUsername":"-","DownstreamContentSize":19,"#,
    r#""DownstreamStatus":404,"Duration":95632,"RequestContentSize":0,"RequestHost":"localhost","#,
    r#""RequestMethod":"GET","RequestPath":"/a?b=1","RequestProtocol":"HTTP/1.1","#,
    r#""RouterName":"web@file","StartUTC":"2026-11-21T03:54:12.000123456Z","#,
    r#""request_User-Agent":"curl/8","time":"2026-11-21T03:54:13Z"}"#,
);
const ENVOY: &str = concat!(
    r#"[2016-04-15T20:17:00.310Z] "POST /api/v1/locations HTTP/2" 204 - 154 0 226 100 "#,
    r#""10.0.35.28" "nsq2http" "cc21d9b0" "locations" "tcp://10.0.2.1:80""#,
);
const SQUID: &str = concat!(
    "1286536309.450    120 192.168.0.68 TCP_MISS/200 507 POST http://clients.e.org/search?q=1 - ",
    "HIER_DIRECT/74.125.19.100 text/xml",
);
const CADDY: &str = concat!(
    r#"{"level":"info","ts":1646861401.5241024,"msg":"handled request","request":{"#,
    r#""remote_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","host":"localhost","#,
    r#""uri":"/a?b=1","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]}},"#,
    r#""bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200}"#,
);
const ALB: &str = concat!(
    "https 2018-07-02T22:23:00.186641Z app/lb/50dc 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 ",
    r#"0.037 200 200 0 57 "GET https://www.example.com:443/a?b=1 HTTP/1.1" "curl/7.46.0" "#,
    r#"ECDHE TLSv1.2 arn:aws "Root=1" "www.example.com" "arn:aws" 1 x "forward" "-""#,
);
const S3: &str = concat!(
    "79a5 bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 79a5 3E57 REST.GET.VERSIONING - ",
    r#""GET /bucket1?versioning HTTP/1.1" 200 - 113 - 7 - "-" "S3Console/0.4" - s9lz= SigV4 "#,
    "ECDHE AuthHeader bucket1.s3.us-west-1.amazonaws.com TLSV1.2 arn:aws:s3 Yes",
);
const LOGFMT: &str = concat!(
    r#"time=2026-11-21T03:54:12Z level=INFO msg="said \"hi\" = x" method=GET path=/a?b=1 "#,
    "status=200 bytes_out=12 flag empty= user=-",
);
const DOCKER: &str =
    r#"{"log":"Log line is here\n","stream":"stdout","time":"2019-01-01T11:11:11.111111111Z"}"#;
const CRI: &str = "2016-10-06T00:17:09.669794202Z stdout F The content of the log entry 1";
const RFC_3164: &str = "<34>Oct 11 22:14:15 mymachine su[7]: 'su root' failed for lonvick";
const RFC_5424: &str = concat!(
    "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 ",
    r#"[exampleSDID@32473 iut="3" eventSource="A\"]"][p@1 c="h"] An entry"#,
);
const DOCKER_LOGFMT: &str = concat!(
    r#"{"log":"time=2026-11-21T03:54:12Z msg=\"a b\" path=/a status=200\n","#,
    r#""stream":"stdout","time":"2019-01-01T11:11:11.111111111Z"}"#,
);
const CRI_COMBINED: &str = concat!(
    r#"2016-10-06T00:17:09.669794202Z stdout F 192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] "#,
    r#""GET /a HTTP/1.1" 200 1234 "-" "x""#,
);

const FIELDS: [&str; 42] = [
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
    "var.upstream_response_time",
    "var.upstream_status",
    "var.upstream_response_length",
    "var.backend",
    "var.message",
    "var.msg",
    "var.log",
    "var.program",
    "var.pid",
    "var.stream",
    "var.cs_bytes",
];

fn formats() -> Vec<(Format, Vec<&'static str>)> {
    let named = |text: &str| SourceConfig { format: Some(text.to_owned()), ..Default::default() };
    let format = |text: &str| Format::parse(&named(text)).unwrap();
    let keys = [("path", "url"), ("bytes_out", "bytes")];
    let keys = keys.map(|(field, key)| (field.to_owned(), key.to_owned())).into();
    let wrapped = |wrapper: &str, inside: &str| {
        let wrapper = Some(wrapper.to_owned());
        Format::parse(&SourceConfig { wrapper, ..named(inside) }).unwrap()
    };
    let common = COMBINED.split(" \"https").next().unwrap();
    vec![
        (format("combined"), vec![COMBINED, ODD]),
        (format("common"), vec![COMBINED, common, ODD]),
        (format("ltsv"), vec![LTSV]),
        (format("tidegate"), vec![JOURNAL]),
        (Format::parse(&SourceConfig { keys, ..named("json") }).unwrap(), vec![JSON]),
        (format(TIMED_FORMAT), vec![TIMED]),
        (format("ingress-nginx"), vec![INGRESS]),
        (format("vhost_combined"), vec![VHOST]),
        (format("haproxy"), vec![HAPROXY, HAPROXY_SYSLOG]),
        (format("traefik"), vec![TRAEFIK]),
        (format("traefik-json"), vec![TRAEFIK_JSON]),
        (format("envoy"), vec![ENVOY]),
        (format("squid"), vec![SQUID]),
        (format("caddy"), vec![CADDY]),
        (format("alb"), vec![ALB]),
        (format("s3"), vec![S3]),
        (format("logfmt"), vec![LOGFMT]),
        (format("docker"), vec![DOCKER]),
        (format("cri"), vec![CRI]),
        (format("syslog"), vec![RFC_3164, RFC_5424]),
        (wrapped("docker", "logfmt"), vec![DOCKER_LOGFMT]),
        (wrapped("cri", "combined"), vec![CRI_COMBINED]),
        (wrapped("syslog", "haproxy"), vec![HAPROXY_SYSLOG]),
    ]
}

/// What one field is in a line, as text; none for what is absent or no line.
fn shown(fields: &impl Fields, name: &FieldName) -> Option<String> {
    fields.field(name).map(|value| String::from_utf8_lossy(&bytes_of(value)).into_owned())
}

/// What the two find different in the lines of a text; `line` where only one takes it.
fn differences(format: &Format, text: &[u8]) -> Vec<String> {
    let names: Vec<FieldName> = FIELDS.iter().map(|name| name.parse().unwrap()).collect();
    let mut reader = PlainReader::new(format, Arc::default());
    let lines = text.split(|byte| *byte == b'\n').map(|line| reader.next(line));
    let mut plain = lines.filter(|outcome| !matches!(outcome, PlainOutcome::Passed));
    let mut wrong = Vec::new();
    let mut decoder = Decoder::new(format, Arc::default());
    decoder.each(&[text, b"\n"].concat(), |_, _, outcome| match (&outcome, plain.next()) {
        (Ok(event), Some(PlainOutcome::Event(line))) => {
            for (name, text) in names.iter().zip(FIELDS) {
                let (fast, slow) = (shown(*event, name), shown(&*line, name));
                if fast != slow {
                    wrong.push(format!("{text}: {fast:?}, plainly {slow:?}"));
                }
            }
        }
        (Err(_), Some(PlainOutcome::Refused)) => {}
        (Ok(_), _) => wrong.push("line: plainly refused".to_owned()),
        (Err(error), _) => wrong.push(format!("line: refused ({error}), plainly not")),
    });
    let only: Vec<_> = plain.map(|_| "line: only plainly seen".to_owned()).collect();
    wrong.extend(only);
    wrong
}

/// Whether the plain reader takes the only line.
fn takes(format: &Format, line: &str) -> bool {
    let outcome = PlainReader::new(format, Arc::default()).next(line.as_bytes());
    matches!(outcome, PlainOutcome::Event(_))
}

#[test]
fn sound_lines_have_the_same_fields() {
    for (format, lines) in formats() {
        for line in lines {
            assert_eq!(differences(&format, line.as_bytes()), [""; 0], "{line}");
            assert!(takes(&format, line), "{line}");
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

const IIS: &str = "#Version: 1.0\r\n#Fields: date time cs-method cs-uri-stem cs-uri-query \
    cs-username c-ip cs(User-Agent) sc-status time-taken\r\n2020-05-01 00:00:02 GET /a b=7 - \
    192.168.0.2 Mozilla/5.0+(Windows) 200 62\r\n#Fields: date time sc-status cs-bytes\r\n\
    2020-05-01 00:00:03 404 9\r\n2020-05-01 00:00:03 404\r\n";
const PIECES: &str = "2016-10-06T00:17:09Z stdout P time=2026-11-21T03:54:12Z pa\n\
    2016-10-06T00:17:09Z stderr F time=2026-11-21T03:54:13Z path=/b\n\
    2016-10-06T00:17:09Z stdout F th=/a status=200\n";

#[test]
fn lines_that_say_something_of_later_ones_are_read_alike() {
    let mut config = SourceConfig { format: Some("logfmt".to_owned()), ..Default::default() };
    config.wrapper = Some("cri".to_owned());
    let pieces = Format::parse(&config).unwrap();
    let named = |name: &str| SourceConfig { format: Some(name.to_owned()), ..Default::default() };
    let (iis, w3c) = (Format::parse(&named("iis")), Format::parse(&named("w3c")));
    let cases = [(iis.unwrap(), IIS), (w3c.unwrap(), IIS), (pieces, PIECES)];
    let mut random = Random::new(9);
    for (format, text) in cases {
        let text = text.strip_suffix('\n').unwrap();
        assert_eq!(differences(&format, text.as_bytes()), [""; 0]);
        for _ in 0..2000 {
            let mut damaged = text.as_bytes().to_vec();
            let at = random.up_to(damaged.len() as u64 - 1) as usize;
            damaged[at] = b" \"\\[]-:?x0\t#FP\n"[random.up_to(14) as usize];
            let shown = String::from_utf8_lossy(&damaged);
            assert_eq!(differences(&format, &damaged), [""; 0], "{shown}");
        }
    }
}
