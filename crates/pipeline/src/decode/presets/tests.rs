//! Lines from the documentation of the programs that write them, and what they become.

mod documented;
mod names;
mod written;

use crate::config::SourceConfig;
use crate::decode::tests::{decoder, fields, named};
use crate::decode::{Decoder, Format};

pub(crate) use documented::DOCUMENTED;

/// Reads `text` by a format; gives each field of each line, or the reason.
fn read(name: &str, text: &str, names: &[&str]) -> Vec<Result<Vec<String>, String>> {
    fields(&mut decoder(name), format!("{text}\n").as_bytes(), names)
}

/// Claims that the only line has these fields.
fn claim(name: &str, line: &str, expected: &[(&str, &str)]) {
    let names: Vec<&str> = expected.iter().map(|(name, _)| *name).collect();
    let values: Vec<String> = expected.iter().map(|(_, value)| (*value).to_owned()).collect();
    assert_eq!(read(name, line, &names), [Ok(values)], "{name}: {line}");
}

const RETRIED: &str = "10.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"GET /a?b=1 HTTP/1.1\" 200 612 \
     \"-\" \"curl/7.68.0\" 83 2.004 [default-web-80] [] 10.0.0.5:8080, 10.0.0.6:8080 0, 612 \
     2.000, 0.004 502, 200 6e0d5a";

#[test]
fn a_retried_request_of_ingress_nginx_keeps_its_fields_in_place() {
    claim(
        "ingress-nginx",
        RETRIED,
        &[
            ("client_ip", "10.2.3.4"),
            ("status", "200"),
            ("bytes_in", "83"),
            ("bytes_out", "612"),
            ("total", "2004000"),
            ("var.proxy_upstream_name", "default-web-80"),
            ("upstream", "10.0.0.6:8080"),
            ("var.upstream_response_length", "612"),
            ("var.upstream_response_time", "2.004"),
            ("var.upstream_status", "200"),
            ("id", "6e0d5a"),
        ],
    );
    let redirected = RETRIED
        .replace("10.0.0.5:8080, 10.0.0.6:8080 0, 612", "a:1, b:2 : c:3 1, - : 2")
        .replace("2.000, 0.004 502, 200", "0.5, - : 0.25 502, - : 200");
    claim(
        "ingress-nginx",
        &redirected,
        &[
            ("upstream", "c:3"),
            ("var.upstream_response_length", "3"),
            ("var.upstream_response_time", "0.75"),
            ("var.upstream_status", "200"),
            ("id", "6e0d5a"),
        ],
    );
    let alone =
        RETRIED.replace("10.0.0.5:8080, 10.0.0.6:8080 0, 612 2.000, 0.004 502, 200", "- - - -");
    claim(
        "ingress-nginx",
        &alone,
        &[("upstream", "-"), ("var.upstream_response_time", "-"), ("id", "6e0d5a")],
    );
}

#[test]
fn what_is_taken_of_a_list_is_the_choice_of_the_configuration() {
    let lists = [
        ("upstream_addr", "all"),
        ("upstream_response_time", "last"),
        ("upstream_status", "all"),
        ("upstream_response_length", "sum"),
    ];
    let lists = lists.map(|(name, choice)| (name.to_owned(), choice.to_owned())).into();
    let config = SourceConfig { lists, ..named("ingress-nginx") };
    let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
    let names = ["upstream", "var.upstream_response_time", "var.upstream_status"];
    let expected = ["10.0.0.5:8080, 10.0.0.6:8080", "0.004", "502, 200"];
    let seen = fields(&mut decoder, format!("{RETRIED}\n").as_bytes(), &names);
    assert_eq!(seen, [Ok(expected.map(str::to_owned).to_vec())]);
    for (name, choice) in [("upstream_addr", "sum"), ("upstream_status", "first"), ("x", "last")] {
        let lists = [(name.to_owned(), choice.to_owned())].into();
        let error =
            Format::parse(&SourceConfig { lists, ..named("ingress-nginx") }).unwrap_err().remove(0);
        assert_eq!(error.0, "lists");
    }
}

#[test]
fn lists_that_are_none_are_refused_and_never_shift_a_field() {
    for (list, by) in [
        ("2.000, 0.004", "2.000 0.004"),
        ("2.000, 0.004", "2.000,0.004"),
        ("2.000, 0.004", "2.000, x"),
        ("2.000, 0.004", "2.000, "),
        ("502, 200", "502, 200, "),
        ("200 6e0d5a", "200 200 6e0d5a"),
    ] {
        let line = RETRIED.replace(list, by);
        assert_ne!(line, RETRIED);
        let seen = read("ingress-nginx", &line, &["status"]);
        assert!(seen[0].is_err(), "{line}: {seen:?}");
    }
}

#[test]
fn apache_with_virtual_hosts() {
    claim(
        "vhost_combined",
        "www.e.org:443 192.0.2.7 - ann [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 304 - \
         \"-\" \"Mozilla/5.0 (X11)\"",
        &[
            ("host", "www.e.org"),
            ("var.server_port", "443"),
            ("client_ip", "192.0.2.7"),
            ("user", "ann"),
            ("path", "/a"),
            ("status", "304"),
            ("bytes_out", "0"),
            ("header.user-agent", "Mozilla/5.0 (X11)"),
        ],
    );
}

const LIGHTTPD: &str = "192.0.2.7 www.e.org:8080 ann [26/Nov/2026:15:43:07 +0000] \"GET \
     /a?b=1&item=7 HTTP/1.1\" 200 6 \"http://r.test/?q=\\\"a b\\\"\" \"Mozilla \\\"q\\\" \\\\back\"";

#[test]
fn lighttpd_by_its_default_format() {
    claim(
        "lighttpd",
        LIGHTTPD,
        &[
            ("time", "1795707787000000"),
            ("client_ip", "192.0.2.7"),
            ("host", "www.e.org:8080"),
            ("user", "ann"),
            ("method", "GET"),
            ("path", "/a"),
            ("query.item", "7"),
            ("version", "1.1"),
            ("status", "200"),
            ("bytes_out", "6"),
            ("header.referer", "http://r.test/?q=\"a b\""),
            ("header.user-agent", "Mozilla \"q\" \\back"),
        ],
    );
}

#[test]
fn haproxy_with_and_without_syslog() {
    let line = "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 \
                2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /index.html HTTP/1.1\"";
    let prefixes = [
        "",
        "Feb  6 12:14:14 localhost haproxy[14389]: ",
        "<134>Feb  6 12:14:14 localhost haproxy[14389]: ",
        "2009-02-06T12:14:14.655123+00:00 localhost haproxy[14389]: ",
        "<134>1 2009-02-06T12:14:14.655Z localhost haproxy 14389 - - ",
    ];
    for prefix in prefixes {
        claim(
            "haproxy",
            &format!("{prefix}{line}"),
            &[
                ("time", "1233922454655000"),
                ("client_ip", "10.0.1.2"),
                ("var.frontend", "http-in"),
                ("var.backend", "static"),
                ("upstream", "srv1"),
                ("status", "200"),
                ("bytes_out", "2750"),
                ("total", "109000"),
                ("var.termination_state", "----"),
                ("method", "GET"),
                ("path", "/index.html"),
            ],
        );
    }
    // From the manual's chapter on logs of broken sessions.
    claim(
        "haproxy",
        "[2001:db8::7]:34548 [15/Oct/2003:15:18:55.798] px-http px-http/<NOSRV> -1/-1/-1/-1/8490 \
         -1 0 - - CR-- 2/2/2/0/0 0/0 \"<BADREQ>\"",
        &[
            ("client_ip", "2001:db8::7"),
            ("upstream", "-"),
            ("status", "-"),
            ("bytes_out", "0"),
            ("total", "8490000"),
            ("path", "-"),
        ],
    );
}

#[test]
fn a_zone_is_added_to_times_that_say_none() {
    let config = SourceConfig { zone: Some("+01:00".to_owned()), ..named("haproxy") };
    let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
    let line = "10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 \
                2750 - - ---- 1/1/1/1/0 0/0 \"GET /index.html HTTP/1.1\"\n";
    let seen = fields(&mut decoder, line.as_bytes(), &["time"]);
    assert_eq!(seen, [Ok(vec!["1233918854655000".to_owned()])]);
}

#[test]
fn traefik_in_both_formats() {
    claim(
        "traefik",
        "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"curl/8\" 7 \
         \"web@docker\" \"http://172.17.0.2:80\" 3ms",
        &[
            ("status", "200"),
            ("var.router", "web@docker"),
            ("upstream", "http://172.17.0.2:80"),
            ("total", "3000"),
        ],
    );
    claim(
        "traefik-json",
        concat!(
            r#"{"ClientAddr":"10.0.0.1:59626","ClientHost":"10.0.0.1","ClientPort":"59626","#,
            r#""ClientUsername":"-","DownstreamContentSize":19,"DownstreamStatus":404,"#,
            r#""Duration":95632,"OriginDuration":0,"RequestContentSize":0,"#,
            r#""RequestHost":"localhost","RequestMethod":"GET","RequestPath":"/a?b=1","#,
            r#""RequestProtocol":"HTTP/1.1","RequestScheme":"http","RouterName":"web@file","#,
            r#""StartLocal":"2026-11-21T04:54:12+01:00","#,
            r#""StartUTC":"2026-11-21T03:54:12.000123456Z","level":"info","msg":"","#,
            r#""request_User-Agent":"curl/8","time":"2026-11-21T03:54:13Z"}"#
        ),
        &[
            ("time", "1795233252000123"),
            ("client_ip", "10.0.0.1"),
            ("user", "-"),
            ("path", "/a"),
            ("query.b", "1"),
            ("version", "1.1"),
            ("status", "404"),
            ("bytes_out", "19"),
            ("total", "95"),
            ("route", "web@file"),
            ("header.user-agent", "curl/8"),
            ("var.OriginDuration", "0"),
        ],
    );
}

#[test]
fn envoy_by_its_default_format() {
    claim(
        "envoy",
        "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \
         \"10.0.35.28\" \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \
         \"tcp://10.0.2.1:80\"",
        &[
            ("time", "1460751420310000"),
            ("method", "POST"),
            ("path", "/api/v1/locations"),
            ("version", "2"),
            ("status", "204"),
            ("bytes_in", "154"),
            ("bytes_out", "0"),
            ("total", "226000"),
            ("header.x-forwarded-for", "10.0.35.28"),
            ("id", "cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2"),
            ("host", "locations"),
            ("upstream", "tcp://10.0.2.1:80"),
        ],
    );
}

#[test]
fn squid_with_padded_columns() {
    for (padded, total) in [("   120", "120000"), ("     0", "0"), ("123456", "123456000")] {
        claim(
            "squid",
            &format!(
                "1286536309.450 {padded} 192.168.0.68 TCP_MISS/200 507 POST \
                 http://clients.e.org/search?q=1 - HIER_DIRECT/74.125.19.100 text/xml"
            ),
            &[
                ("time", "1286536309450000"),
                ("total", total),
                ("client_ip", "192.168.0.68"),
                ("var.result", "TCP_MISS"),
                ("status", "200"),
                ("bytes_out", "507"),
                ("method", "POST"),
                ("host", "clients.e.org"),
                ("path", "/search"),
                ("user", "-"),
                ("upstream", "74.125.19.100"),
                ("var.content_type", "text/xml"),
            ],
        );
    }
    let by_hand = "$msec $took $remote_addr $result/$status $body_bytes_sent $request_method \
                   $request_uri $user $hierarchy/$peer $mime";
    let line = "1286536309.450    120 192.168.0.68 TCP_MISS/200 507 POST http://e.org/ - D/- t/x";
    assert!(read(by_hand, line, &["status"])[0].is_err(), "padding shifts no field");
}

const CADDY_LINE: &str = concat!(
    r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","#,
    r#""msg":"handled request","request":{"remote_ip":"127.0.0.1","#,
    r#""remote_port":"41342","client_ip":"127.0.0.1","proto":"HTTP/2.0","method":"GET","#,
    r#""host":"localhost","uri":"/a?b=1","headers":{"User-Agent":["curl/7.82.0"],"#,
    r#""Accept":["*/*"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"#,
    r#""user_id":"","duration":0.000929675,"size":10900,"status":200,"#,
    r#""resp_headers":{"Server":["Caddy"]}}"#
);

#[test]
fn caddy_by_keys_that_lie_in_objects() {
    let expected = [
        ("time", "1646861401524102"),
        ("client_ip", "127.0.0.1"),
        ("method", "GET"),
        ("host", "localhost"),
        ("path", "/a"),
        ("query.b", "1"),
        ("version", "2.0"),
        ("header.user-agent", "curl/7.82.0"),
        ("status", "200"),
        ("bytes_in", "0"),
        ("bytes_out", "10900"),
        ("total", "929"),
        ("user", "-"),
    ];
    claim("caddy", CADDY_LINE, &expected);
    let keys = [("path", "request.uri"), ("time", "ts"), ("method", "request.method")];
    let keys = keys.map(|(field, key)| (field.to_owned(), key.to_owned())).into();
    let config = SourceConfig { keys, ..named("json") };
    let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
    let line = format!("{CADDY_LINE}\n");
    let seen = fields(&mut decoder, line.as_bytes(), &["path", "method", "var.request"]);
    let seen = seen[0].clone().unwrap();
    assert_eq!(seen[..2], ["/a", "GET"]);
    assert!(seen[2].starts_with("{\"remote_ip\""), "{seen:?}");
    let lacking = line.replace("\"uri\":\"/a?b=1\",", "");
    assert_eq!(fields(&mut decoder, lacking.as_bytes(), &["path"]), [Ok(vec!["-".to_owned()])]);
}

#[test]
fn an_application_load_balancer() {
    // From AWS's page, "Example HTTPS entry", with what was added to it later.
    claim(
        "alb",
        "https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 \
         192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 \
         \"GET https://www.example.com:443/a?b=1 HTTP/1.1\" \"curl/7.46.0\" \
         ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 \
         arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/targets/73e2d6bc24d8a067 \
         \"Root=1-58337281-1d84f3d73c47ec4e58577259\" \"www.example.com\" \
         \"arn:aws:acm:us-east-2\" \
         1 2018-07-02T22:22:48.364000Z \"authenticate,forward\" \"-\" \"-\" \"10.0.0.1:80\" \
         \"200\" \
         \"-\" \"-\" TID_123456",
        &[
            ("time", "1530570180186641"),
            ("client_ip", "192.168.131.39"),
            ("upstream", "10.0.0.1:80"),
            ("total", "171000"),
            ("status", "200"),
            ("bytes_in", "0"),
            ("bytes_out", "57"),
            ("method", "GET"),
            ("scheme", "https"),
            ("host", "www.example.com"),
            ("path", "/a"),
            ("header.user-agent", "curl/7.46.0"),
            ("var.elb", "app/my-loadbalancer/50dc6c495c0c9188"),
        ],
    );
    claim(
        "alb",
        "http 2018-11-30T22:23:00.186641Z app/my-lb/50dc 192.168.131.39:2817 - -1 -1 -1 502 - 34 \
         366 \"GET http://www.example.com:80/ HTTP/1.1\" \"curl/7.46.0\" - - arn:x \"Root=1\" \
         \"-\" \
         \"-\" 0 2018-11-30T22:22:48.364000Z \"forward\"",
        &[("status", "502"), ("total", "-"), ("upstream", "-"), ("bytes_in", "34")],
    );
}

#[test]
fn a_bucket_of_s3() {
    let owner = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be";
    claim(
        "s3",
        &format!(
            "{owner} amzn-s3-demo-bucket1 [06/Feb/2019:00:00:38 +0000] 192.0.2.3 {owner} \
             3E57427F3EXAMPLE REST.GET.VERSIONING - \"GET /amzn-s3-demo-bucket1?versioning \
             HTTP/1.1\" 200 - 113 - 7 - \"-\" \"S3Console/0.4\" - s9lzHYrFp76ZVxRcpX9= SigV4 \
             ECDHE-RSA-AES128-GCM-SHA256 AuthHeader \
             amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com \
             TLSV1.2 arn:aws:s3:us-west-1:123456789012:accesspoint/example-AP Yes us-east-1"
        ),
        &[
            ("time", "1549411238000000"),
            ("client_ip", "192.0.2.3"),
            ("user", owner),
            ("id", "3E57427F3EXAMPLE"),
            ("var.operation", "REST.GET.VERSIONING"),
            ("path", "/amzn-s3-demo-bucket1"),
            ("status", "200"),
            ("bytes_out", "113"),
            ("total", "7000"),
            ("header.user-agent", "S3Console/0.4"),
            ("host", "amzn-s3-demo-bucket1.s3.us-west-1.amazonaws.com"),
        ],
    );
    claim(
        "s3",
        &format!(
            "{owner} b [06/Feb/2019:00:01:00 +0000] - AmazonS3 8C96 S3.EXPIRE.OBJECT k - - - \
            - 4406 \
             - - - - - h - - - -"
        ),
        &[("status", "-"), ("bytes_out", "0"), ("path", "-"), ("var.key", "k")],
    );
}

const CLOUDFRONT: &str = "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip \
     cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) \
     x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken\n\
     2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\
     \t200\t-\tMozilla/5.0%20(X11)\tb=1\t-\tHit\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGd==\
     \twww.e.org\thttps\t23\t0.001";

#[test]
fn cloudfront_by_its_directive() {
    claim(
        "cloudfront",
        CLOUDFRONT,
        &[
            ("time", "1575493351000000"),
            ("bytes_out", "392"),
            ("client_ip", "192.0.2.100"),
            ("host", "www.e.org"),
            ("path", "/index.html"),
            ("query.b", "1"),
            ("status", "200"),
            ("header.user-agent", "Mozilla/5.0 (X11)"),
            ("cache", "hit"),
            ("scheme", "https"),
            ("bytes_in", "23"),
            ("total", "1000"),
            ("var.x_edge_location", "LAX1"),
        ],
    );
}

const IIS: &str = "#Software: Microsoft Internet Information Services 10.0\r\n#Version: 1.0\r\n\
     #Date: 2020-05-01 00:00:01\r\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query \
     s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status \
     time-taken\r\n2020-05-01 00:00:02 192.168.0.1 GET /iisstart.htm id=7 80 - 192.168.0.2 \
     Mozilla/5.0+(Windows) - 200 0 0 62\r";

#[test]
fn iis_with_date_and_time_apart() {
    claim(
        "iis",
        IIS,
        &[
            ("time", "1588291202000000"),
            ("client_ip", "192.168.0.2"),
            ("path", "/iisstart.htm"),
            ("query.id", "7"),
            ("status", "200"),
            ("total", "62000"),
            ("user", "-"),
            ("header.user-agent", "Mozilla/5.0 (Windows)"),
            ("var.s_ip", "192.168.0.1"),
            ("var.sc_win32_status", "0"),
        ],
    );
}

#[test]
fn columns_change_with_the_directive_and_lines_without_one_are_refused() {
    let text = "2020-05-01 00:00:02 /a 200\n#Fields: date time cs-uri-stem sc-status\n\
                2020-05-01 00:00:02 /b 200\n2020-05-01 00:00:02 /b\n2020-05-01 00:00:02 /b 200 x\n\
                #Fields: time sc-status date cs-uri-stem x-id\n00:00:03 404 2020-05-01 /c 7";
    let seen = read("w3c", text, &["path", "status", "var.x_id"]);
    let line = |values: [&str; 3]| Ok(values.map(str::to_owned).to_vec());
    assert_eq!(seen.len(), 5);
    assert!([0, 2, 3].iter().all(|at| seen[*at].is_err()), "{seen:?}");
    assert_eq!(seen[1], line(["/b", "200", "-"]));
    assert_eq!(seen[4], line(["/c", "404", "7"]));
}

#[test]
fn containers_and_syslog_without_a_format_inside_give_the_message() {
    claim(
        "docker",
        r#"{"log":"Log line is here\n","stream":"stdout","time":"2019-01-01T11:11:11.111111111Z"}"#,
        &[("time", "1546341071111111"), ("var.log", "Log line is here"), ("var.stream", "stdout")],
    );
    claim(
        "cri",
        "2016-10-06T00:17:09.669794202Z stdout F The content of the log entry 1",
        &[
            ("time", "1475713029669794"),
            ("var.stream", "stdout"),
            ("var.message", "The content of the log entry 1"),
        ],
    );
    // The examples of RFC 5424, 6.5.
    claim(
        "syslog",
        "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \u{feff}'su root' failed",
        &[
            ("time", "1065910455003000"),
            ("host", "mymachine.example.com"),
            ("var.program", "su"),
            ("var.pid", "-"),
            ("var.priority", "34"),
            ("var.message", "'su root' failed"),
        ],
    );
    claim(
        "syslog",
        "<165>1 2003-10-11T22:14:15.003Z mymachine.example.com evntslog - ID47 \
         [exampleSDID@32473 iut=\"3\" eventSource=\"A\\\"]\"][p@1 c=\"h\"] An entry",
        &[("var.program", "evntslog"), ("var.message", "An entry")],
    );
    // The examples of RFC 3164, 5.4, whose year is the latest that can be.
    let seen = read(
        "syslog",
        "<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
        &["host", "var.program", "var.message"],
    );
    let message = "'su root' failed for lonvick on /dev/pts/8";
    let expected = ["mymachine", "su", message];
    assert_eq!(seen, [Ok(expected.map(str::to_owned).to_vec())]);
}

#[test]
fn logfmt_with_quotes_and_keys_of_its_own() {
    claim(
        "logfmt",
        concat!(
            r#"time=2026-11-21T03:54:12Z level=INFO msg="said \"hi\" = x" method=GET "#,
            r#"path=/a?b=1 status=200 bytes_out=12 flag empty= user=-"#
        ),
        &[
            ("time", "1795233252000000"),
            ("var.msg", "said \"hi\" = x"),
            ("path", "/a"),
            ("query.b", "1"),
            ("status", "200"),
            ("bytes_out", "12"),
            ("var.empty", "-"),
            ("user", "-"),
        ],
    );
    for line in [
        "time=2026-11-21T03:54:12Z msg=\"open",
        "time=2026-11-21T03:54:12Z msg=\"a\"b",
        "time=2026-11-21T03:54:12Z msg=a\"b",
        "time=2026-11-21T03:54:12Z status=2x0",
        "status=200",
        "=x time=2026-11-21T03:54:12Z",
    ] {
        assert!(read("logfmt", line, &["time"])[0].is_err(), "{line}");
    }
    let keys = [("client_ip", "fwd"), ("total_ms", "service"), ("bytes_out", "bytes")];
    let keys = keys.map(|(field, key)| (field.to_owned(), key.to_owned())).into();
    let config = SourceConfig { keys, ..named("logfmt") };
    let mut decoder = Decoder::new(&Format::parse(&config).unwrap(), [].into());
    let line = "ts=2026-11-21T03:54:12Z at=info method=GET path=\"/\" fwd=\"1.2.3.4\" service=2ms \
                status=200 bytes=13\n";
    let seen = fields(&mut decoder, line.as_bytes(), &["client_ip", "total", "bytes_out"]);
    assert_eq!(seen, [Ok(["1.2.3.4", "2000", "13"].map(str::to_owned).to_vec())]);
}

#[test]
fn a_misspelt_name_gets_the_name_that_was_meant() {
    for (name, meant) in [("combind", "combined"), ("ingres-nginx", "ingress-nginx")] {
        let [(key, reason)] = &Format::parse(&named(name)).unwrap_err()[..] else {
            panic!("{name}")
        };
        assert_eq!(*key, "format");
        assert!(reason.contains(&format!("did you mean `{meant}`?")), "{reason}");
    }
    let config = SourceConfig { wrapper: Some("dokcer".to_owned()), ..named("combined") };
    let [(key, reason)] = &Format::parse(&config).unwrap_err()[..] else { panic!("one") };
    assert!(*key == "wrapper" && reason.contains("did you mean `docker`?"), "{reason}");
}

#[test]
fn every_key_of_a_source_that_is_wrong_is_reported() {
    let config = SourceConfig {
        wrapper: Some("dockr".to_owned()),
        time_format: Some("%Q".to_owned()),
        lists: [("upstream_addr".to_owned(), "sum".to_owned())].into(),
        ..named("haproxi")
    };
    let errors = Format::parse(&config).unwrap_err();
    let keys: Vec<&str> = errors.iter().map(|(key, _)| *key).collect();
    assert_eq!(keys, ["format", "wrapper", "time_format", "lists"]);
}
