//! Claims about the plain reader: it and the delivery's scanners find the same in every line,
//! sound or damaged, though they share no code.

use std::sync::Arc;

use exchange::{FieldName, Fields};
use pipeline::{Decoder, FORMAT_NAMES, Format, SourceConfig};
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
const LIGHTTPD: &str = concat!(
    r#"192.0.2.7 www.e.org:8080 ann [26/Nov/2026:15:43:07 +0000] "GET /a?b=1&item=7 HTTP/1.1" "#,
    r#"200 6 "http://r.test/?q=\"a b\"" "Mozilla \"q\" \\back""#,
);
const LIGHTTPD_400: &str = r#"127.0.0.1 - - [26/Nov/2026:15:43:07 +0000] "  " 400 345 "-" "-""#;
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
    r#"ECDHE TLSv1.2 arn:aws "Root=1" "www.example.com" "arn:aws" 1 "#,
    r#"2018-07-02T22:22:48.364000Z "forward" "-""#,
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

const HAPROXY_ASAP: &str = concat!(
    "::1:41584 [26/Nov/2026:11:34:24.516] fe_main be/s1 0/0/11/6/+96 200 +111 - - ",
    r#"---- 1/1/0/0/0 0/0 {Mozilla #22q#22 \x41|e:80} {a b#22c} "HEAD /a#23b HTTP/1.1""#,
);
const TRAEFIK_QUOTES: &str = concat!(
    r#"127.0.0.1 - ann [26/Nov/2026:11:34:23 +0000] "GET /ok HTTP/1.1" 200 6 "#,
    r#""http://r.test/?q=\"a b\"" "Mozilla \"q\" \back\x22 end" 1 "all@file" "-" 1ms"#,
);
const ENVOY_ABSENT: &str = concat!(
    r#"[2026-11-26T11:34:24.841Z] "- - HTTP/1.1" 400 DPE 0 11 0 - "-" "a "q" \x41" "-" "#,
    r#""-" "-""#,
);
const SQUID_HEADERS: &str = concat!(
    "1795692864.869      1 ::1 TCP_MISS/200 252 CONNECT e.org:443 ann HIER_NONE/- ",
    r"text/plain [User-Agent: x\r\n] [HTTP/1.1 200 OK\r\n\r\n]",
);
const CADDY_STRING: &str = concat!(
    r#"{"level":"info","ts":"2026-11-26T11:34:35.303+0000","request":{"remote_ip":"::1","#,
    r#""uri":"HTTP://a@e.org?b=1","headers":{"User-Agent":["x"]}},"duration":"1m0.5µs","#,
    r#""size":6,"status":200}"#,
);
const ALB_ABSENT: &str = concat!(
    "http 2018-11-30T22:23:00.186641Z app/my-lb/50dc [::1]:2817 - -1 -1 -1 400 - 34 366 ",
    r#""- http://e.org:80- -" "-" - - - "-" "-" "-" 0 2018-11-30T22:22:48.364000Z "-" "-" "-""#,
);
const S3_OLD: &str = concat!(
    "79a5 b [06/Feb/2019:00:00:38 +0000] - AmazonS3 3E57 S3.EXPIRE.OBJECT k - - - - 4406 7 6 ",
    r#"- "x" - s9lz="#,
);
const LTSV_400: &str = concat!(
    "time:26/Nov/2026:11:34:27 +0000\thost:::1\treq:\tmethod:-\turi:-\tstatus:400\tsize:0\t",
    "reqtime:3.000\tcache:HIT\tapptime:-\tvhost:srv.test\tua:a\\x22\\t\targ_q:x%20y\ttotal:7",
);
const LOGFMT_NGINX: &str = concat!(
    "time=2026-11-26T11:34:24+00:00 remote_addr=::1 method=GET request_uri=\"/ok?b=2\" ",
    r#"status=200 body_bytes_sent=6 request_time=0.010 msg="\x22q\x22 \x5Cb\a\u00e9" "#,
    "upstream_addr=\"a:1, b:2\" request_id=5f total_ms=1.5 http_x_tenant=t",
);
const JSON_NAMES: &str = concat!(
    r#"{"time":"2026-11-26T11:34:24.604740+0000","total":1500,"request_id":"7f","total_part":1,"#,
    r#""upstream_addr":"a:1, b:2","header.user-agent":"ua","header.x-tenant":"A","arg_q":"x%20y","#,
    r#""query.b":"z","http_host":"e.org","upstream_response_time":"0.1, 2","#,
    r#""request":"GET - HTTP/1","#,
    r#""scheme":"HTTPS","upstream_status":"502 : 200","status":200}"#,
);
const RSYSLOG: &str = "<190>1 2026-11-26T11:34:24+00:00 vm nginx - - -  ::1 - - x";

const FIELDS: [&str; 58] = [
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
    "decision_detail",
    "cache",
    "upstream",
    "ranked_by",
    "fetched_by",
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
    "var.captures",
    "var.time_queue",
    "var.queues",
    "var.mime_headers",
    "var.content_type",
    "var.hierarchy",
    "var.router",
    "var.request_count",
    "var.rule_priority",
    "var.request_creation_time",
    "var.host_id",
    "var.priority",
    "header.host",
    "header.accept",
];

fn named(format: &str) -> SourceConfig {
    SourceConfig { format: Some(format.to_owned()), ..Default::default() }
}

fn format(name: &str) -> Format {
    Format::parse(&named(name)).unwrap()
}

/// Formats whose lines do not depend on each other, with sound lines.
fn formats() -> Vec<(Format, Vec<&'static str>)> {
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
        (format("ltsv"), vec![LTSV, LTSV_400]),
        (format("tidegate"), vec![JOURNAL]),
        (format("json"), vec![JSON_NAMES]),
        (Format::parse(&SourceConfig { keys, ..named("json") }).unwrap(), vec![JSON, JSON_NAMES]),
        (format(TIMED_FORMAT), vec![TIMED]),
        (format("ingress-nginx"), vec![INGRESS]),
        (format("vhost_combined"), vec![VHOST]),
        (format("lighttpd"), vec![LIGHTTPD, LIGHTTPD_400]),
        (format("haproxy"), vec![HAPROXY, HAPROXY_SYSLOG, HAPROXY_ASAP]),
        (format("traefik"), vec![TRAEFIK, TRAEFIK_QUOTES]),
        (format("traefik-json"), vec![TRAEFIK_JSON]),
        (format("envoy"), vec![ENVOY, ENVOY_ABSENT]),
        (format("squid"), vec![SQUID, SQUID_HEADERS]),
        (format("caddy"), vec![CADDY, CADDY_STRING]),
        (format("alb"), vec![ALB, ALB_ABSENT]),
        (format("s3"), vec![S3, S3_OLD]),
        (format("logfmt"), vec![LOGFMT, LOGFMT_NGINX]),
        (format("docker"), vec![DOCKER]),
        (format("cri"), vec![CRI]),
        (format("syslog"), vec![RFC_3164, RFC_5424, RSYSLOG]),
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

/// What damages put into lines: signs of structure, numbers at their limits, and no UTF-8.
const BITS: [&[u8]; 40] = [
    b" ",
    b"\"",
    b"\\",
    b"[",
    b"]",
    b"-",
    b":",
    b"?",
    b"x",
    b"0",
    b"\t",
    b"{",
    b"}",
    b",",
    b"\r",
    b"\xfe",
    b"\xc3\xa9",
    b"#",
    b"%",
    b"+",
    b"/",
    b".",
    b"@",
    b"=",
    b"|",
    b"'",
    b"-1",
    b"99999999999999999999",
    b"9223372036854775807",
    b"9223372036854775808",
    b"253402300800",
    b"\\x22",
    b"#22",
    b"\\n",
    b", ",
    b" : ",
    b"HTTP://",
    b"<NOSRV>",
    b"+1401",
    b"\0",
];

/// Damages a text in one place or two.
fn damage(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut line = text.to_vec();
    for _ in 0..=random.up_to(2) {
        let at = random.up_to(line.len().max(1) as u64 - 1) as usize;
        let bit = BITS[random.up_to(BITS.len() as u64 - 1) as usize];
        let end = (at + random.up_to(12) as usize).min(line.len());
        match random.up_to(6) {
            0 if at > 0 => line.truncate(at),
            1 => drop(line.splice(at..end, bit.iter().copied())),
            2 => drop(line.splice(at..at, bit.iter().copied())),
            3 => drop(line.drain(at..end)),
            4 if at < line.len() => line[at] = random.up_to(255) as u8,
            5 => {
                // A number takes the place of another.
                let is_digit = |byte: &u8| byte.is_ascii_digit();
                let from = at + line[at..].iter().take_while(|byte| !is_digit(byte)).count();
                let to = from + line[from..].iter().take_while(|byte| is_digit(byte)).count();
                line.splice(from..to, bit.iter().copied());
            }
            // Two lines in one.
            _ => {
                line.truncate(at.max(1));
                line.extend_from_slice(text);
            }
        }
    }
    line
}

/// How often each format is damaged.
const TURNS: u64 = 800;

#[test]
fn damaged_lines_are_refused_by_both_or_neither() {
    let (mut random, mut wrong) = (Random::new(7), Vec::new());
    for (format, lines) in formats() {
        for turn in 0..TURNS as usize {
            let line = damage(lines[turn % lines.len()].as_bytes(), &mut random);
            if !line.contains(&b'\n') && !line.is_empty() {
                let new = differences(&format, &line).into_iter();
                wrong.extend(new.map(|what| format!("{what} in {}", line.escape_ascii())));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

const IIS: &str = "#Version: 1.0\r\n#Fields: date time cs-method cs-uri-stem cs-uri-query \
    cs-username c-ip cs(User-Agent) sc-status time-taken\r\n2020-05-01 00:00:02 GET /a b=7 - \
    192.168.0.2 Mozilla/5.0+(Windows) 200 62\r\n#Fields: date time sc-status cs-bytes\r\n\
    2020-05-01 00:00:03 404 9\r\n2020-05-01 00:00:03 404\r\n";
const CLOUDFRONT: &str = "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) \
    cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs(Accept) cs-uri-query x-edge-result-type \
    x-host-header cs-protocol time-taken\n2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\t\
    d.net\t/index.html\t200\t-\tMozilla/5.0%20(X11)+%25\ta%2Fb\tb=1\tHit\twww.e.org\thttps\t0.001\n\
    2019-12-04\t21:02:31\tLAX1\t392\t::1\t-\td\t-\t000\t-\t-\t-\t-\tMiss\t-\t-\t0.001\n";
const PIECES: &str = "2016-10-06T00:17:09Z stdout P time=2026-11-21T03:54:12Z pa\n\
    2016-10-06T00:17:09Z stderr F time=2026-11-21T03:54:13Z path=/b\n\
    2016-10-06T00:17:09Z stdout F th=/a status=200\n";

/// Formats whose lines say something of later ones, with a sound text.
fn dependent() -> [(Format, &'static str); 4] {
    let pieces = SourceConfig { wrapper: Some("cri".to_owned()), ..named("logfmt") };
    [
        (format("iis"), IIS),
        (format("w3c"), IIS),
        (format("cloudfront"), CLOUDFRONT),
        (Format::parse(&pieces).unwrap(), PIECES),
    ]
}

#[test]
fn both_readers_are_compared_on_each_format_that_has_a_name() {
    let compared = formats().into_iter().map(|(format, _)| format);
    let compared: Vec<Format> = compared.chain(dependent().map(|(format, _)| format)).collect();
    let lacking = FORMAT_NAMES.iter().filter(|name| !compared.contains(&format(name)));
    assert_eq!(lacking.collect::<Vec<_>>(), [&""; 0]);
}

#[test]
fn lines_that_say_something_of_later_ones_are_read_alike() {
    let mut random = Random::new(9);
    for (format, text) in dependent() {
        let text = text.strip_suffix('\n').unwrap();
        assert_eq!(differences(&format, text.as_bytes()), [""; 0]);
        for _ in 0..TURNS {
            let mut damaged = damage(text.as_bytes(), &mut random);
            if damaged.is_empty() {
                continue;
            }
            let at = random.up_to(damaged.len() as u64 - 1) as usize;
            damaged[at] = b" \"\\[]-:?x0\t#FP\n\r\xfe"[random.up_to(16) as usize];
            assert_eq!(differences(&format, &damaged), [""; 0], "{}", damaged.escape_ascii());
        }
    }
}
