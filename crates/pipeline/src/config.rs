//! Declares the sections `[[source]]`, `[[field]]`, `[[rollup]]`, `[[sink]]` and `[events]` as they
//! may stand in the file.
//!
//! Plain data: every key is optional, and an unknown one is an error. Doc comments become the
//! schema's descriptions, so they state units and defaults. The defaults themselves are in `plan`,
//! `fields`, `decode`, `rollup` and `tidegate`: change both.
//! What is required and what fits together, [`crate::plan()`] checks; of `[[field]]`, `fields`
//! does. Of `[[source]]`, `decode/format.rs` checks the seven keys that say how lines are read.
//! `tidegate/src/config.rs` checks `[events]` and the addresses of sinks.
//! A new key does nothing until one of these reads it. Pages of docs/operating describe the keys.
//! A key that is renamed also has a row in `chassis/src/config/renamed.rs`, and one whose value is
//! a secret in `tidegate/src/commands/redact.rs`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// The key of a source, and what is wrong with it.
pub(crate) type KeyError = (&'static str, String);

/// Log files that are read as a queue. The journal of this process is the source `journal`, which
/// needs no section.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SourceConfig {
    /// Its name: letters, digits, `-`, `_`.
    pub name: Option<String>,
    /// Files, such as `["/var/log/nginx/access.log*"]`. `*`, `?` and `[…]` mean what they mean in a
    /// shell, but also match a leading dot; `**` stands for any directories. Name rotated files
    /// too: a log is known by its content. It goes on where it was under any name, also packed
    /// (`.gz`, `.zst`).
    pub files: Vec<String>,
    /// Stop with an error when a log was emptied behind its reader (`copytruncate`) or came back
    /// shorter. Otherwise what is known to be lost is reported, and reading goes on. Default
    /// `false`.
    pub strict: Option<bool>,
    /// Make log files durable (`fdatasync`) before what was read of them is committed. Then no file
    /// is shorter after a power cut than what was counted. Default `false`.
    pub sync: Option<bool>,
    /// How long a rotated file must have been silent until it is closed. A last line without a line
    /// feed is then quarantined. Default `30s`.
    pub idle_timeout: Option<String>,
    /// Names of other nodes whose logs were moved to this one, such as `["web1"]`. A log that such
    /// a node has read, into the same sink, goes on here where it ended there. Otherwise each node
    /// counts its own logs, also where they begin with the same lines.
    pub moved_from: Vec<String>,
    /// `combined` (default), `common`, `vhost_combined`, `ingress-nginx`, `lighttpd`, `haproxy`,
    /// `traefik`, `traefik-json`, `envoy`, `squid`, `caddy`, `alb`, `s3`, `cloudfront`, `iis`,
    /// `w3c`, `ltsv`, `logfmt`, `json`, `docker`, `cri`, `syslog`, `tidegate`. Or a `log_format` of
    /// nginx such as `'$remote_addr [$time_local] "$request" $status $request_time'`. Variables
    /// that are no field of ours are `var.NAME`.
    pub format: Option<String>,
    /// How nginx escapes in that `log_format`: `default`, `json` or `none`.
    pub escape: Option<String>,
    /// With JSON and `logfmt`: which key holds a field, such as `{ path = "request.uri" }`. Dots
    /// lead into objects. Our names and those of nginx's variables are known; other keys are
    /// `var.KEY`. `total_seconds`, `total_ms` and `total_ns` are `total` in another unit.
    pub keys: BTreeMap<String, String>,
    /// What each line is wrapped in, with `format` inside: `docker`, `cri` or `syslog`.
    pub wrapper: Option<String>,
    /// How times are written, in the words of strftime, such as `"%Y-%m-%d %H:%M:%S.%f"`; or
    /// `rfc3339`, `epoch`, `epoch_ms`, `epoch_us`, `epoch_ns`. Default: as logs mostly write them.
    pub time_format: Option<String>,
    /// The offset of times that say none, such as `"+01:00"`. Default UTC.
    pub zone: Option<String>,
    /// What is taken of nginx's lists of upstream values, such as
    /// `{ upstream_status = "all" }`: `last`, `sum` or `all`. Default: sums of times and sizes, the
    /// last of addresses and states.
    pub lists: BTreeMap<String, String>,
}

/// A field over others: what a line must hold, and what is taken out of it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FieldConfig {
    /// Its name, by which `by`, `sum`, `where` and other fields know it: letters, digits and
    /// underscores.
    pub name: Option<String>,
    /// Names of the sources whose lines have it; default: all.
    pub source: Vec<String>,
    /// The field that holds it, such as `query.item` or `path`.
    pub from: Option<String>,
    /// A regular expression that the text must match somewhere. Its first group, if it has one, is
    /// the value; otherwise the match is.
    #[serde(rename = "match")]
    pub pattern: Option<String>,
    /// `text` (default), `integer` or `real`; text that is no such number is no value.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// A line without a value goes to quarantine; default `false`.
    pub required: bool,
    /// A filter for the lines that have this field, such as `path == "/play"`; default: all.
    #[serde(rename = "where")]
    pub filter: Option<String>,
}

/// What is counted, and by what.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RollupConfig {
    /// Its name, which is that of the table: letters, digits and underscores.
    pub name: Option<String>,
    /// Names of the sources it counts; default: all.
    pub source: Vec<String>,
    /// A filter that lines must pass, such as `path == "/1/feedback/read"`; default: all do.
    #[serde(rename = "where")]
    pub filter: Option<String>,
    /// Fields, and one of `second`, `minute`, `hour`, `day`.
    pub by: Vec<String>,
    /// Count lines; default `true`.
    pub count: Option<bool>,
    /// Fields whose sum is kept, in columns `sum_FIELD`.
    pub sum: Vec<String>,
    /// Fields whose smallest value is kept, in columns `min_FIELD`.
    pub min: Vec<String>,
    /// Fields whose largest value is kept, in columns `max_FIELD`.
    pub max: Vec<String>,
    /// Fields whose mean is kept, in columns `mean_FIELD`; their `sum_FIELD` and `count_FIELD`
    /// are kept too.
    pub mean: Vec<String>,
    /// Fields whose value in the latest line is kept, in columns `last_FIELD`; the time of that
    /// line is in `last_FIELD_time`.
    pub last: Vec<String>,
    /// Fields whose different values are counted, within 1 % or so. These counts can be merged over
    /// keys and machines. They are kept in another table, `NAME_sketches`, in columns
    /// `unique_FIELD`; `tidegate events query` merges them. `unique_FIELD_count` beside it is the
    /// number of this row alone.
    pub unique: Vec<String>,
    /// Fields whose quantiles are kept, within 1 % of the value; in the same table, in columns
    /// `quantiles_FIELD`. `p50_FIELD`, `p90_FIELD` and `p99_FIELD` beside it are those of this row
    /// alone.
    pub quantiles: Vec<String>,
    /// Deliver single events instead of aggregates: a row a line, with `node`, `source`, `file`
    /// and `file_offset`, by which it can be traced; default `false`.
    pub raw: Option<bool>,
    /// Fields of single events; default: `time`, `id`, `method`, `host`, `path`, `query`,
    /// `status`, `bytes_in`, `bytes_out`, `client_ip`, `user`, `route`, `decision`, `cache`,
    /// `ranked_by`, `total`.
    pub fields: Vec<String>,
    /// Name of the sink; it may be left out when there is one.
    pub sink: Option<String>,
}

/// The record process.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EventsConfig {
    /// Where the process says how it is, as `IP:PORT` on loopback. Whoever connects gets one JSON
    /// document. Default: nowhere; `tidegate serve` shows it on its status page all the same.
    pub status: Option<String>,
    /// Memory for the running values of all sources on their way to all sinks. What exceeds it is
    /// delivered at once. While batches are under way it is taken twice. Each source and sink may
    /// always use its share: this, divided by their number. Default `32MB`.
    pub window_bytes_max: Option<String>,
    /// Lines that are no events.
    pub quarantine: Option<QuarantineConfig>,
}

/// Where lines go that are no events, such as `quarantine = { bytes_max = "1GB" }`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct QuarantineConfig {
    /// Directory; default `data/quarantine`.
    pub dir: Option<String>,
    /// Bytes of the file of one source and sink. Lines past it are counted and not kept; with `0B`
    /// none is. Default `64MB`.
    pub bytes_max: Option<String>,
}

/// Where rows are delivered.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SinkConfig {
    /// Its name.
    pub name: Option<String>,
    /// The engine and where it is: `sqlite:FILE`, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`,
    /// `mysql://…` and `clickhouse://…` and `mongodb://…` likewise,
    /// `kafka://HOST:PORT,HOST:PORT/PREFIX`, `ndjson:DIR`, `csv:DIR`;
    /// docs/operating/sinks.md has what each promises.
    pub url: Option<String>,
    /// How often rows are delivered; default `1s`.
    pub flush: Option<String>,
}
