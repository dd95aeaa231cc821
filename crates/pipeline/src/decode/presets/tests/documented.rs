//! A line of each format by name, as its program documents it: what `guess` must tell by.

use super::written::{ALB, S3};
use super::{CADDY_LINE, CLOUDFRONT, IIS, LIGHTTPD, RETRIED};

/// Names of formats, and a text of each; `names` holds the list against all names.
pub(crate) const DOCUMENTED: [(&str, &str); 23] = [
    (
        "combined",
        "192.0.2.7 - ann [21/Nov/2026:03:54:12 +0000] \"GET /a?b=1 HTTP/1.1\" 200 12 \
         \"http://www.e.org/\" \"Mozilla/5.0 (X11)\"",
    ),
    ("common", "192.0.2.7 - ann [21/Nov/2026:03:54:12 +0000] \"GET /a?b=1 HTTP/1.0\" 200 12"),
    (
        "vhost_combined",
        "www.e.org:443 192.0.2.7 - ann [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 304 - \
         \"-\" \"Mozilla/5.0 (X11)\"",
    ),
    ("ingress-nginx", RETRIED),
    ("lighttpd", LIGHTTPD),
    (
        "haproxy",
        "Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] \
         http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \
         \"GET /index.html HTTP/1.1\"",
    ),
    (
        "traefik",
        "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"curl/8\" 7 \
         \"web@docker\" \"http://172.17.0.2:80\" 3ms",
    ),
    (
        "traefik-json",
        concat!(
            r#"{"ClientHost":"10.0.0.1","DownstreamContentSize":19,"DownstreamStatus":404,"#,
            r#""Duration":95632,"RequestHost":"localhost","RequestMethod":"GET","#,
            r#""RequestPath":"/a?b=1","RequestProtocol":"HTTP/1.1","RouterName":"web@file","#,
            r#""StartUTC":"2026-11-21T03:54:12.000123456Z","time":"2026-11-21T03:54:13Z"}"#
        ),
    ),
    (
        "envoy",
        "[2016-04-15T20:17:00.310Z] \"POST /api/v1/locations HTTP/2\" 204 - 154 0 226 100 \
         \"10.0.35.28\" \"nsq2http\" \"cc21d9b0-cf5c-432b-8c7e-98aeb7988cd2\" \"locations\" \
         \"tcp://10.0.2.1:80\"",
    ),
    (
        "squid",
        "1286536309.450    120 192.168.0.68 TCP_MISS/200 507 POST http://clients.e.org/search - \
         HIER_DIRECT/74.125.19.100 text/xml",
    ),
    ("caddy", CADDY_LINE),
    ("alb", ALB),
    ("s3", S3),
    ("cloudfront", CLOUDFRONT),
    ("iis", IIS),
    (
        "w3c",
        "#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status bytes\n\
         1996-05-02 17:42:15 192.0.2.7 GET /a 200 6394",
    ),
    (
        "ltsv",
        "time:21/Nov/2026:03:54:12 +0000\thost:192.0.2.7\treq:GET /a HTTP/1.1\tstatus:200\tsize:12",
    ),
    (
        "logfmt",
        "time=2026-11-21T03:54:12Z level=info msg=\"said \\\"hi\\\"\" method=GET path=/a \
         status=200",
    ),
    (
        "json",
        concat!(
            r#"{"time":"2026-11-21T03:54:12Z","remote_addr":"192.0.2.7","method":"GET","#,
            r#""path":"/a","status":200,"bytes_out":12}"#
        ),
    ),
    (
        "docker",
        concat!(
            r#"{"log":"Log line is here\n","stream":"stdout","#,
            r#""time":"2019-01-01T11:11:11.111111111Z"}"#
        ),
    ),
    ("cri", "2016-10-06T00:17:09.669794202Z stdout F The content of the log entry 1"),
    ("syslog", "<34>Oct 11 22:14:15 mymachine su[7]: 'su root' failed for lonvick on /dev/pts/8"),
    (
        "tidegate",
        concat!(
            r#"{"time":"2026-11-21T03:54:12.000123Z","id":"0000000000000000000000000000002a","#,
            r#""method":"GET","host":"e.org","path":"/a","status":200,"bytes_out":12,"#,
            r#""client_ip":"192.0.2.7","decision":"generic","cache":"hit","total_us":42}"#
        ),
    ),
];
