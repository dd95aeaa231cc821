//! Names the log formats of known programs, each in the words of the formats that are read here.
//!
//! | format | documented by |
//! |---|---|
//! | `ingress-nginx` | ingress-nginx, "Log format" |
//! | `vhost_combined` | Debian's `apache2.conf`, Apache's mod_log_config |
//! | `lighttpd` | lighttpd's wiki, "Docs ModAccessLog", `accesslog.format` by default |
//! | `haproxy` | HAProxy's configuration manual, 8.2.3 "HTTP log format" |
//! | `traefik`, `traefik-json` | Traefik, "Access logs" |
//! | `envoy` | Envoy, "Access logging", "Default format string" |
//! | `squid` | Squid's wiki, "Squid LogFormat", `logformat squid` |
//! | `cri` | Kubernetes, "CRI log format" |
//! | `docker` | Docker, "JSON File logging driver" |
//! | `caddy` | Caddy, "How Logging Works" |
//! | `alb`, `s3` | AWS, "Access log entries", "Amazon S3 server access log format" |
//!
//! Invariant: plain data. `recount` reads the same texts by its own code.
//! Never here: what a variable means (`meaning`), and columns that a file itself names (`columns`).

use super::escape::Escape;

/// A format that is a `log_format` of variables.
pub(super) struct TemplatePreset {
    pub name: &'static str,
    pub text: &'static str,
    /// How its time is written, if in none of the usual ways.
    pub time: Option<&'static str>,
    /// How it escapes.
    pub escape: Escape,
    /// What may follow in brackets.
    pub tail: Option<&'static str>,
}

/// The names of all formats that have one. `presets/tests/names.rs` says where each must stand;
/// `recount` and `fuzz` ask for all of them, too.
pub const NAMES: [&str; 23] = [
    "combined",
    "common",
    "vhost_combined",
    "ingress-nginx",
    "lighttpd",
    "haproxy",
    "traefik",
    "traefik-json",
    "envoy",
    "squid",
    "caddy",
    "alb",
    "s3",
    "cloudfront",
    "iis",
    "w3c",
    "ltsv",
    "logfmt",
    "json",
    "docker",
    "cri",
    "syslog",
    "tidegate",
];

pub(super) const TEMPLATES: [TemplatePreset; 8] = [
    TemplatePreset {
        name: "ingress-nginx",
        text: "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
               \"$http_referer\" \"$http_user_agent\" $request_length $request_time \
               [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr \
               $upstream_response_length $upstream_response_time $upstream_status $req_id",
        time: None,
        escape: Escape::Log,
        tail: None,
    },
    TemplatePreset {
        name: "vhost_combined",
        text: "$host:$server_port $remote_addr $ident $remote_user [$time_local] \"$request\" \
               $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\"",
        time: None,
        escape: Escape::Log,
        tail: None,
    },
    TemplatePreset {
        name: "lighttpd",
        text: "$remote_addr $host $remote_user [$time_local] \"$request\" $status \
               $body_bytes_sent \"$http_referer\" \"$http_user_agent\"",
        time: None,
        escape: Escape::Log,
        tail: None,
    },
    TemplatePreset {
        name: "haproxy",
        text: "$client_endpoint [$time] $frontend $backend/$upstream_addr \
               $time_request/$time_queue/$time_connect/$time_response/$total_ms $status \
               $body_bytes_sent $request_cookie $response_cookie $termination_state \
               $connections $queues $captures\"$request\"",
        time: Some("%d/%b/%Y:%H:%M:%S.%f"),
        escape: Escape::Hash,
        tail: None,
    },
    TemplatePreset {
        name: "traefik",
        text: "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \
               \"$http_referer\" \"$http_user_agent\" $request_count \"$router\" \
               \"$upstream_addr\" ${total_ms}ms",
        time: None,
        escape: Escape::Quotes,
        tail: None,
    },
    TemplatePreset {
        name: "envoy",
        text: "[$time_iso8601] \"$request\" $status $response_flags $request_length \
               $body_bytes_sent $total_ms $upstream_service_time \"$http_x_forwarded_for\" \
               \"$http_user_agent\" \"$request_id\" \"$host\" \"$upstream_addr\"",
        time: None,
        escape: Escape::None,
        tail: None,
    },
    TemplatePreset {
        name: "squid",
        text: "$msec  $total_ms $remote_addr $result/$status $body_bytes_sent $request_method \
               $request_uri $remote_user $hierarchy/$upstream_addr $content_type",
        time: None,
        escape: Escape::None,
        tail: Some("mime_headers"),
    },
    TemplatePreset {
        name: "cri",
        text: "$time_iso8601 $stream $tag $message",
        time: None,
        escape: Escape::None,
        tail: None,
    },
];

/// How syslog of RFC 3164 writes times; the year is not said.
pub(super) const SYSLOG_TIME: &str = "%b %e %H:%M:%S";

/// The access log of Caddy.
pub(super) const CADDY: [(&str, &str); 14] = [
    ("time", "ts"),
    ("client_ip", "request.remote_ip"),
    ("method", "request.method"),
    ("host", "request.host"),
    ("path", "request.uri"),
    ("version", "request.proto"),
    ("header.user-agent", "request.headers.User-Agent"),
    ("header.referer", "request.headers.Referer"),
    ("id", "uuid"),
    ("user", "user_id"),
    ("status", "status"),
    ("bytes_in", "bytes_read"),
    ("bytes_out", "size"),
    ("total_seconds", "duration"),
];

/// The access log of Traefik in JSON. Its `time` is that of the entry, after the answer.
pub(super) const TRAEFIK: [(&str, &str); 16] = [
    ("time", "StartUTC"),
    ("client_ip", "ClientHost"),
    ("user", "ClientUsername"),
    ("method", "RequestMethod"),
    ("scheme", "RequestScheme"),
    ("host", "RequestHost"),
    ("path", "RequestPath"),
    ("version", "RequestProtocol"),
    ("status", "DownstreamStatus"),
    ("bytes_in", "RequestContentSize"),
    ("bytes_out", "DownstreamContentSize"),
    ("route", "RouterName"),
    ("upstream", "ServiceAddr"),
    ("header.user-agent", "request_User-Agent"),
    ("header.referer", "request_Referer"),
    ("total_ns", "Duration"),
];

/// The log of Docker's driver `json-file`; the message is `var.log`.
pub(super) const DOCKER: [(&str, &str); 1] = [("time", "time")];

/// S3's server access log. Quotes and brackets are those of the columns, and a line may end at a
/// bar; more columns may follow the last.
pub(super) const S3: &str = "bucket_owner bucket [time] remote_addr remote_user request_id \
    operation key \"request\" status error_code body_bytes_sent object_size total_ms \
    turn_around_ms \"http_referer\" \"http_user_agent\" version_id host_id | signature_version \
    cipher_suite authentication_type host";

/// The access log of an Application Load Balancer, written in the same way.
pub(super) const ALB: &str = "type time elb client_endpoint upstream_addr total_part total_part \
    total_part status upstream_status request_length body_bytes_sent \"request\" \
    \"http_user_agent\" ssl_cipher ssl_protocol target_group \"trace_id\" \"host\" | \
    \"chosen_cert_arn\" | rule_priority | request_creation_time | \"actions_executed\" | \
    \"redirect_url\" | \"error_reason\"";

#[cfg(test)]
pub(super) mod tests;
