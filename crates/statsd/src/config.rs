//! Defines the section `[statsd]` as users write it, and checks it into a [`Plan`].
//!
//! Every key is optional in the type; `plan` reports all errors (of a backend only the first), each
//! through `wrong` with its dotted key. After an error its plan is not for use. The doc comments
//! are the reference manual. A default stands in the doc comment, in `plan`, in docs/STATSD.md, and
//! often in `settings`, which the management port shows. Those of `trains` and
//! `receive_buffer_bytes` are measured (docs/decisions/statsd.md).
//! A new key needs a field, a check, a decision in `reload.rs`, and a value of its field of `Plan`
//! in `legacy.rs`. If `settings` shows it and it counts at a start only, `AT_START` (`reload.rs`)
//! has its name, too. A secret must be hidden by `crates/tidegate/src/commands/redact.rs`. A new
//! backend: CONTRIBUTING.md.
//! [`HistogramConfig`] is also read from requests of `eval.rs`. Relative paths are taken from
//! `root`. Not checked: whether `prefix` is empty, keys that a kind of backend
//! does not use, hosts, and whether an address is free. Only the management address is compared
//! with other listeners (`crates/tidegate/src/config.rs`).
//! Never here: files of the replaced servers and their flavours (`legacy.rs`); this is always
//! native.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use chassis::config::{nearest, there_is};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use stdx::{ByteSize, Network, NetworkError, SizeError, Span};

use crate::flavour::Flavour;
use crate::plan::{
    self, BackendPlan, Closing, Graphite, Histogram, INTERVAL_MAX, Idle, InputPlan, Keep,
    Management, NAMES_BYTES_MAX, Plan, RECEIVE_BUFFER_BYTES, Web,
};
use crate::statistics::NAMES;

/// Values of one timer that are kept as they are: 8 KB.
const TIMER_VALUES_MAX: usize = 1024;
const INPUT: &str = "write `udp:IP:PORT`, `tcp:IP:PORT`, `unix:PATH` or `unixgram:PATH`";
const BACKEND: &str = "write one of graphite, console, file, repeater, influx, otlp, prometheus";

/// A statsd server.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where samples come in: `udp:IP:PORT`, `tcp:IP:PORT`, `unix:PATH` (lines), `unixgram:PATH`
    /// (datagrams); default `["udp:0.0.0.0:8125"]`.
    pub listen: Option<Vec<String>>,
    /// Sockets and threads for each UDP address; default: one a core of the machine.
    pub receivers: Option<usize>,
    /// Buffer of each UDP socket; beyond the system's `net.core.rmem_max` only where the process
    /// may (`CAP_NET_ADMIN`), and what was granted is shown; default `8MB`.
    pub receive_buffer_bytes: Option<String>,
    /// Takes datagrams of one sender together (`UDP_GRO`), where that sends them together
    /// (`UDP_SEGMENT`) or the network card merges them: many times as many a second. A group that
    /// the kernel drops then counts as one datagram; default `false`.
    pub trains: bool,
    /// The management port; default `127.0.0.1:8126`, `off` for none.
    pub management: Option<String>,
    /// Who may use it, such as `["127.0.0.1", "10.0.0.0/8"]`; default: whoever reaches it.
    pub management_allow: Vec<String>,
    /// Time between flushes, which come when the wall clock is a multiple of it, a year at most;
    /// default `10s`.
    pub flush: Option<String>,
    /// Percentiles of timers; negative ones look from above; default `[90]`.
    pub percentiles: Option<Vec<f64>>,
    /// Statistics of timers that are shown, such as `["count", "mean", "upper_percent"]`; default:
    /// all. There are `count`, `count_ps`, `lower`, `mean`, `median`, `std`, `sum`, `sum_squares`,
    /// `upper`, `histogram`, and for percentiles `count_percent`, `lower_percent`, `mean_percent`,
    /// `sum_percent`, `sum_squares_percent`, `upper_percent`.
    pub statistics: Vec<String>,
    /// Bins for the timers whose names contain a text; the first that fits counts.
    pub histogram: Vec<HistogramConfig>,
    /// The first part of the server's own names; default `statsd`.
    pub prefix: Option<String>,
    /// Under `serve`: the first part of the names of the process's own metrics, which are flushed
    /// with the rest; default `tidegate`, `off` leaves them out.
    pub process: Option<String>,
    /// Names without samples are shown for so long, gauges too; default `5m`, `never` keeps them.
    pub idle_timeout: Option<String>,
    /// Memory for names, with what flushes and backends make of them; samples of names beyond it
    /// count in `PREFIX.overflow`; default `1GB`.
    pub names_bytes_max: Option<String>,
    /// Memory for the names of some prefixes, such as `{ "app." = "10MB" }`; samples beyond it
    /// count in `app.overflow`. With `0B` all do.
    pub prefix_bytes_max: std::collections::BTreeMap<String, String>,
    /// Directory where flushes wait for a backend that is away; default `data/statsd-spool`.
    pub spool_dir: Option<String>,
    /// Bytes that may wait there for each backend, beyond which the oldest go; default `256MB`.
    pub spool_bytes_max: Option<String>,
    /// File that keeps gauges and the interval that goes on for the next start, written once a
    /// second; default `data/statsd-snapshot`, `off` for none.
    pub snapshot: Option<String>,
    /// Where flushes go.
    pub backend: Vec<BackendConfig>,
}

/// Bins of timers, such as `{ part = "render", bins = [10, 100, "inf"] }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HistogramConfig {
    /// A part of a timer's name; the empty text fits all.
    pub part: String,
    /// Upper bounds, exclusive, ascending; `"inf"` for none.
    pub bins: Vec<Value>,
}

impl HistogramConfig {
    /// How bins are written.
    pub(crate) const HINT: &str = "write rising numbers, and \"inf\" at the end for the rest";

    /// The bins as they are used; none when they do not rise.
    pub(crate) fn read(&self) -> Option<Histogram> {
        let bound = |bin: &Value| match bin.as_str() {
            Some("inf") => Some(None),
            _ => bin.as_f64().map(Some),
        };
        let bins: Vec<Option<f64>> = self.bins.iter().map(bound).collect::<Option<_>>()?;
        let is_rising = bins
            .windows(2)
            .all(|pair| pair[0].is_some_and(|one| pair[1].is_none_or(|next| one < next)));
        is_rising.then(|| Histogram { part: self.part.clone(), bins })
    }
}

/// Where flushes go, such as `{ kind = "graphite", to = "127.0.0.1:2003" }`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BackendConfig {
    /// `graphite`, `console`, `file`, `repeater`, `influx`, `otlp` or `prometheus`.
    pub kind: String,
    /// `host:port` of Graphite and repeaters (a list, or one), a file's path, or the URL of
    /// InfluxDB's write API and of an OpenTelemetry collector.
    pub to: Option<OneOrMany>,
    /// Prometheus: where the page `/metrics` is served; default `127.0.0.1:9102`, `off` for only
    /// `/statsd/metrics` of the admin listener of `serve`.
    pub listen: Option<String>,
    /// Graphite: `text` (default) or `pickle`. Repeater: `udp` (default) or `tcp`.
    pub protocol: Option<String>,
    /// Graphite: the first part of all names; default `stats`.
    pub global_prefix: Option<String>,
    /// Graphite: the last part of all names.
    pub suffix: Option<String>,
    /// Graphite: names as statsd had them before 0.6, `stats_counts.KEY` and so on; default
    /// `false`.
    pub legacy_names: bool,
    /// Graphite: whether it closes a connection that it has read to its end, as carbon does. A
    /// flush counts as delivered when it does, and waits on disk until then. With `false` a flush
    /// counts as delivered when the receiver's system has taken it, so what a receiver does not
    /// read is lost; default `true`.
    pub closes: Option<bool>,
    /// Header fields to send along, such as `{ authorization = "Token …" }`.
    pub headers: std::collections::BTreeMap<String, String>,
}

/// One text, or a list of them.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// A list.
    Many(Vec<String>),
}

/// Checks `[statsd]`; relative paths are taken from `root`.
///
/// Each problem is handed to `wrong` with its dotted key; the plan is for use only if there was
/// none.
pub fn plan(config: &Config, root: &Path, wrong: &mut dyn FnMut(&str, String)) -> Plan {
    let mut reader = Reader { root, wrong };
    let interval = reader.interval(config.flush.as_deref().unwrap_or("10s"));
    let self_prefix = config.prefix.clone().unwrap_or_else(|| "statsd".to_owned());
    let idle = reader.idle(config.idle_timeout.as_deref().unwrap_or("5m"), interval);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let listen = config.listen.clone().unwrap_or_else(|| vec!["udp:0.0.0.0:8125".to_owned()]);
    let prefixes = config.prefix_bytes_max.iter();
    let spool = root.join(config.spool_dir.as_deref().unwrap_or("data/statsd-spool"));
    Plan {
        flavour: Flavour::Native,
        inputs: reader.inputs(&listen),
        receivers: reader.receivers(config.receivers).unwrap_or(cores),
        takes_trains: config.trains,
        receive_buffer_bytes: reader.size_above_zero(
            "receive_buffer_bytes",
            config.receive_buffer_bytes.as_deref(),
            RECEIVE_BUFFER_BYTES as u64,
        ),
        management: reader.management(config),
        interval,
        percentiles: reader.percentiles(config.percentiles.as_deref()),
        statistics: reader.statistics(&config.statistics),
        histograms: reader.histograms(&config.histogram),
        process_prefix: process(config.process.as_deref()),
        keep: keep(idle, &self_prefix),
        cleans_keys: true,
        shows_lines: false,
        key_flush: None,
        is_healthy: true,
        backends: reader.backends(&config.backend),
        names_bytes_max: reader.size_above_zero(
            "names_bytes_max",
            config.names_bytes_max.as_deref(),
            NAMES_BYTES_MAX as u64,
        ),
        prefix_bytes_max: prefixes
            .map(|(prefix, bytes)| {
                let key = format!("prefix_bytes_max.{prefix}");
                (prefix.clone(), reader.size_or_zero(&key, bytes))
            })
            .collect(),
        timer_values_max: TIMER_VALUES_MAX,
        values_max: plan::VALUES_MAX,
        spool: Some((spool, {
            let bytes = config.spool_bytes_max.as_deref();
            reader.size_above_zero("spool_bytes_max", bytes, 256 << 20) as u64
        })),
        snapshot: Some(config.snapshot.as_deref().unwrap_or("data/statsd-snapshot"))
            .filter(|path| *path != "off")
            .map(|path| root.join(path)),
        follows_file: true,
        notes: Vec::new(),
        settings: settings(config, &listen, &self_prefix),
        self_prefix,
    }
}

/// What is shown as the configuration that is in force, by the keys of the file.
fn settings(config: &Config, listen: &[String], self_prefix: &str) -> Vec<(String, Value)> {
    let or = |text: &Option<String>, default: &str| json!(text.as_deref().unwrap_or(default));
    let sizes = config.prefix_bytes_max.iter();
    let settings = [
        ("listen", json!(listen)),
        ("management", or(&config.management, "127.0.0.1:8126")),
        ("management_allow", json!(config.management_allow)),
        ("flush", or(&config.flush, "10s")),
        ("percentiles", json!(config.percentiles.as_deref().unwrap_or(&[90.0]))),
        ("statistics", json!(config.statistics)),
        ("prefix", json!(self_prefix)),
        ("idle_timeout", or(&config.idle_timeout, "5m")),
        ("names_bytes_max", or(&config.names_bytes_max, "1GB")),
        ("prefix_bytes_max", sizes.map(|(key, size)| (key.clone(), json!(size))).collect()),
        ("snapshot", or(&config.snapshot, "data/statsd-snapshot")),
        ("backend", config.backend.iter().map(|backend| json!(backend.kind)).collect()),
    ];
    settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn process(prefix: Option<&str>) -> Option<String> {
    Some(prefix.unwrap_or("tidegate")).filter(|prefix| *prefix != "off").map(str::to_owned)
}

fn keep(idle: Idle, self_prefix: &str) -> Keep {
    let always = vec![format!("{self_prefix}.")];
    Keep { counters: idle, timers: idle, gauges: idle, sets: idle, always }
}

struct Reader<'r> {
    root: &'r Path,
    wrong: &'r mut dyn FnMut(&str, String),
}

impl Reader<'_> {
    fn wrong(&mut self, key: &str, reason: String) {
        (self.wrong)(&format!("statsd.{key}"), reason);
    }

    fn span_above_zero(&mut self, key: &str, text: &str) -> Duration {
        Span::above_zero(text).unwrap_or_else(|error| {
            self.wrong(key, error.to_string());
            Duration::from_secs(1)
        })
    }

    fn receivers(&mut self, given: Option<usize>) -> Option<usize> {
        if given == Some(0) {
            self.wrong("receivers", "is 0; write at least 1".to_owned());
        }
        given
    }

    fn interval(&mut self, text: &str) -> Duration {
        let interval = self.span_above_zero("flush", text);
        if interval > INTERVAL_MAX {
            self.wrong("flush", "is longer than a year".to_owned());
        }
        interval
    }

    fn size_above_zero(&mut self, key: &str, text: Option<&str>, default: u64) -> usize {
        self.fitting(key, text.map_or(Ok(default), ByteSize::above_zero))
    }

    fn size_or_zero(&mut self, key: &str, text: &str) -> usize {
        self.fitting(key, ByteSize::or_zero(text))
    }

    fn fitting(&mut self, key: &str, size: Result<u64, SizeError>) -> usize {
        let bytes = size.unwrap_or_else(|error| {
            self.wrong(key, error.to_string());
            0
        });
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    fn idle(&mut self, text: &str, interval: Duration) -> Idle {
        if text == "never" {
            return Idle::Kept;
        }
        let flushes =
            self.span_above_zero("idle_timeout", text).as_secs_f64() / interval.as_secs_f64();
        Idle::Flushes((flushes.ceil() as u32).max(1))
    }

    fn percentiles(&mut self, given: Option<&[f64]>) -> Vec<f64> {
        let given = given.unwrap_or(&[90.0]);
        for percent in given {
            if percent.abs() > 100.0 || *percent == 0.0 {
                self.wrong("percentiles", format!("{percent} is none; write -100 to 100, not 0"));
            }
        }
        given.to_vec()
    }

    fn statistics(&mut self, given: &[String]) -> Vec<String> {
        for name in given {
            if let Some(reason) = no_statistic(name) {
                self.wrong("statistics", reason);
            }
        }
        given.to_vec()
    }

    fn inputs(&mut self, listen: &[String]) -> Vec<InputPlan> {
        let mut inputs = Vec::new();
        for text in listen {
            match input(text, self.root) {
                Some(input) => inputs.push(input),
                None => self.wrong("listen", format!("`{text}` is no address; {INPUT}")),
            }
        }
        if listen.is_empty() {
            self.wrong("listen", format!("is empty; {INPUT}"));
        }
        inputs
    }

    fn management(&mut self, config: &Config) -> Option<Management> {
        let text = config.management.as_deref().unwrap_or("127.0.0.1:8126");
        if text == "off" {
            return None;
        }
        let allow = config.management_allow.iter();
        let allow = allow.filter_map(|text| {
            match Network::parse(text) {
                // An address with the length of its network's prefix says which network is meant.
                Ok(network) | Err(NetworkError::HostBits { meant: network }) => Some(network),
                Err(error) => {
                    self.wrong("management_allow", format!("`{text}` {error}"));
                    None
                }
            }
        });
        let allow = allow.collect();
        match text.parse() {
            Ok(address) => Some(Management { address, allow }),
            Err(_) => {
                let reason = format!("`{text}` is no address; write IP:PORT, or `off`");
                self.wrong("management", reason);
                None
            }
        }
    }

    fn histograms(&mut self, configs: &[HistogramConfig]) -> Vec<Histogram> {
        let mut histograms = Vec::new();
        for (at, config) in configs.iter().enumerate() {
            match config.read() {
                Some(histogram) => histograms.push(histogram),
                None => {
                    let key = format!("histogram[{at}].bins");
                    self.wrong(&key, HistogramConfig::HINT.to_owned());
                }
            }
        }
        histograms
    }

    fn backends(&mut self, configs: &[BackendConfig]) -> Vec<BackendPlan> {
        let mut backends = Vec::new();
        for (at, config) in configs.iter().enumerate() {
            match self.backend(config) {
                Ok(BackendPlan::Prometheus { .. }) if backends.iter().any(is_page) => {
                    self.wrong(&format!("backend[{at}].kind"), "is here twice".to_owned());
                }
                Ok(backend) => backends.push(backend),
                Err((key, reason)) => self.wrong(&format!("backend[{at}].{key}"), reason),
            }
        }
        backends
    }

    fn backend(&self, config: &BackendConfig) -> Result<BackendPlan, (&'static str, String)> {
        let one = || match &config.to {
            Some(OneOrMany::One(to)) => Ok(to.clone()),
            _ => Err(("to", format!("is missing: where is the {}?", config.kind))),
        };
        let protocol = config.protocol.as_deref();
        let is = |other: &'static str, default: &str| match protocol {
            None => Ok(false),
            Some(text) if text == default => Ok(false),
            Some(text) if text == other => Ok(true),
            Some(text) => Err(("protocol", format!("`{text}` is none of {default}, {other}"))),
        };
        Ok(match config.kind.as_str() {
            "graphite" => BackendPlan::Graphite(Graphite {
                to: Some(one()?),
                is_pickle: is("pickle", "text")?,
                is_legacy: config.legacy_names,
                global_prefix: config.global_prefix.clone().unwrap_or_else(|| "stats".to_owned()),
                suffix: config.suffix.clone().unwrap_or_default(),
                closing: match config.closes {
                    Some(false) => Closing::Never,
                    _ => Closing::Always,
                },
                ..Graphite::default()
            }),
            "console" => BackendPlan::Console { is_pretty: true },
            "file" => BackendPlan::File(self.root.join(one()?)),
            "repeater" => BackendPlan::Repeater {
                to: match &config.to {
                    Some(OneOrMany::Many(to)) => to.clone(),
                    _ => vec![one()?],
                },
                is_tcp: is("tcp", "udp")?,
            },
            "influx" => BackendPlan::Influx(influx(web(one()?, config)?)?),
            "otlp" => BackendPlan::Otlp(web(one()?, config)?),
            "prometheus" => BackendPlan::Prometheus {
                listen: match config.listen.as_deref().unwrap_or("127.0.0.1:9102") {
                    "off" => None,
                    text => Some(text.parse().map_err(|_| {
                        ("listen", format!("`{text}` is no address; write IP:PORT, or `off`"))
                    })?),
                },
            },
            "" => return Err(("kind", format!("is missing; {BACKEND}"))),
            other => return Err(("kind", format!("`{other}` is no backend; {BACKEND}"))),
        })
    }
}

/// What is wrong with the name of a statistic; none where there is one.
pub(crate) fn no_statistic(name: &str) -> Option<String> {
    if NAMES.contains(&name) {
        return None;
    }
    let hint = match nearest(name, &NAMES) {
        Some(near) => format!("did you mean `{near}`?"),
        None => there_is(&NAMES),
    };
    Some(format!("`{name}` is no statistic; {hint}"))
}

fn is_page(backend: &BackendPlan) -> bool {
    matches!(backend, BackendPlan::Prometheus { .. })
}

fn web(url: String, config: &BackendConfig) -> Result<Web, (&'static str, String)> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(("to", format!("`{url}` is no URL; write http://… or https://…")));
    }
    Ok(Web { url, headers: config.headers.clone().into_iter().collect() })
}

/// Times are written in nanoseconds, which is what InfluxDB takes them for unless it is told
/// otherwise.
fn influx(web: Web) -> Result<Web, (&'static str, String)> {
    let query = web.url.split_once('?').map_or("", |(_, query)| query);
    let precision = query.split('&').find_map(|pair| pair.strip_prefix("precision="));
    match precision {
        None | Some("n" | "ns" | "nanosecond") => Ok(web),
        Some(other) => Err(("to", format!("`precision={other}` is not ours; leave it out"))),
    }
}

fn input(text: &str, root: &Path) -> Option<InputPlan> {
    let (kind, rest) = text.split_once(':')?;
    let address = || rest.parse::<SocketAddr>().ok();
    match kind {
        "udp" => address().map(InputPlan::Udp),
        "tcp" => address().map(InputPlan::Tcp),
        "unix" if !rest.is_empty() => Some(InputPlan::Unix(root.join(rest), None)),
        "unixgram" if !rest.is_empty() => Some(InputPlan::UnixDatagram(root.join(rest), None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
