//! Defines what a server is to do, whichever kind of file says it, with defaults and bounds.
//!
//! Plain data; checked in `config.rs` for our own section and in `legacy.rs` for the two that are
//! replaced. A new field is set in both. At a reload it comes from the next file, unless `merged`
//! (`reload.rs`) keeps it; then `fixed_keys` names it, too. One that bounds tables also goes into
//! `bounds_differ`.
//! Also here are the few rules that belong to a setting. [`Idle`] and [`Keep`] say when an idle
//! name goes, [`BackendPlan`] whether late flushes are of use.
//! Defaults are also in the doc comments of `config.rs` and in docs/STATSD.md, [`INTERVAL_MAX`] in
//! the fuzz target `statsd_config`. [`RECEIVE_BUFFER_BYTES`] is measured
//! (docs/decisions/statsd.md). Never here: what users may write, and how a backend is built of its
//! plan (`backend.rs`).

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use stdx::Network;

use crate::flavour::Flavour;

/// The default for [`Plan::receive_buffer_bytes`]: 20,000 small datagrams.
pub const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// The default for [`Plan::names_bytes_max`].
pub const NAMES_BYTES_MAX: usize = 1 << 30;
/// The default for [`Plan::values_max`]: 256 MB.
pub const VALUES_MAX: usize = 32 << 20;

/// The longest time between flushes: a year.
pub const INTERVAL_MAX: Duration = Duration::from_secs(366 * 86_400);

/// A server as it is meant.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Which statsd it is.
    pub flavour: Flavour,
    /// Where samples come in.
    pub inputs: Vec<InputPlan>,
    /// Sockets and threads for each UDP address.
    pub receivers: usize,
    /// Bytes of a UDP socket's buffer that are asked for.
    pub receive_buffer_bytes: usize,
    /// Whether UDP sockets take trains of datagrams.
    pub takes_trains: bool,
    /// The management port.
    pub management: Option<Management>,
    /// Time between flushes.
    pub interval: Duration,
    /// Percentiles of timers; negative ones from above.
    pub percentiles: Vec<f64>,
    /// Statistics of timers that are shown; all when empty.
    pub statistics: Vec<String>,
    /// Bins of timers.
    pub histograms: Vec<Histogram>,
    /// The first part of the server's own names.
    pub self_prefix: String,
    /// The first part of the names of the metrics of the process it runs in; without, they are not
    /// flushed.
    pub process_prefix: Option<String>,
    /// What is kept of idle names.
    pub keep: Keep,
    /// Whether keys are cleaned.
    pub cleans_keys: bool,
    /// Whether each line is written to the log.
    pub shows_lines: bool,
    /// A list of the keys that come most often.
    pub key_flush: Option<KeyFlush>,
    /// What `health` answers at first.
    pub is_healthy: bool,
    /// Where flushes go.
    pub backends: Vec<BackendPlan>,
    /// Bytes for names.
    pub names_bytes_max: usize,
    /// Bytes for the names of some prefixes.
    pub prefix_bytes_max: Vec<(String, usize)>,
    /// Values of one timer that are kept as they are.
    pub timer_values_max: usize,
    /// Values of all timers of one receiver that are kept as they are.
    pub values_max: usize,
    /// Where flushes wait for a backend that is away, and how many bytes of them.
    pub spool: Option<(PathBuf, u64)>,
    /// Where gauges and the interval that goes on are kept for the next start.
    pub snapshot: Option<PathBuf>,
    /// Whether a file that changed is read again at once; else when the process is told to
    /// (SIGHUP).
    pub follows_file: bool,
    /// The settings as they were written, for the management port.
    pub settings: Vec<(String, Value)>,
    /// What the file says without effect, in words.
    pub notes: Vec<String>,
}

impl Plan {
    /// Logs what the file says without effect.
    pub(crate) fn say_notes(&self) {
        self.notes.iter().for_each(|note| tracing::warn!("the configuration: {note}"));
    }
}

/// For how many flushes a name is kept that gets no samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// For ever.
    Kept,
    /// Removed with the so-many-th flush after its last sample; with 1 in the one that shows it.
    Flushes(u32),
}

impl Idle {
    /// Whether a name stays that has been idle for so many flushes before this one.
    pub(crate) fn keeps(self, idle: u32) -> bool {
        match self {
            Self::Kept => true,
            Self::Flushes(flushes) => idle + 1 < flushes,
        }
    }
}

/// What is kept of names that get no samples, by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// Counters.
    pub counters: Idle,
    /// Timers.
    pub timers: Idle,
    /// Gauges.
    pub gauges: Idle,
    /// Sets.
    pub sets: Idle,
    /// Counters and gauges whose names contain one of these are always kept.
    pub always: Vec<String>,
}

impl Keep {
    /// Whether a name is kept however long it is idle.
    pub(crate) fn keeps_always(&self, name: &str) -> bool {
        self.always.iter().any(|part| name.contains(part.as_str()))
    }
}

/// Bins for the timers whose names contain a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// A part of a timer's name.
    pub part: String,
    /// Upper bounds, exclusive, in ascending order; none is without bound.
    pub bins: Vec<Option<f64>>,
}

/// Where samples come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputPlan {
    /// Datagrams.
    Udp(SocketAddr),
    /// Lines over TCP.
    Tcp(SocketAddr),
    /// Lines over a Unix socket, with the mode of its file.
    Unix(PathBuf, Option<u32>),
    /// Datagrams over a Unix socket, with the mode of its file.
    UnixDatagram(PathBuf, Option<u32>),
}

impl std::fmt::Display for InputPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Udp(address) => write!(f, "udp:{address}"),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Unix(path, _) => write!(f, "unix:{}", path.display()),
            Self::UnixDatagram(path, _) => write!(f, "unixgram:{}", path.display()),
        }
    }
}

/// The management port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Management {
    /// Where it listens.
    pub address: SocketAddr,
    /// Networks whose clients are let in; all when empty.
    pub allow: Vec<Network>,
}

/// A list of the keys that come most often, written now and then.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyFlush {
    /// How often.
    pub interval: Duration,
    /// How many of them, in percent.
    pub percent: f64,
    /// The file it is appended to; standard output without.
    pub log: Option<PathBuf>,
}

/// Where flushes go.
#[derive(Debug, Clone, PartialEq)]
pub enum BackendPlan {
    /// Graphite's carbon.
    Graphite(Graphite),
    /// Standard output, or with the Perl flavour standard error.
    Console {
        /// With indentation.
        is_pretty: bool,
    },
    /// A file to append to.
    File(PathBuf),
    /// Other statsd servers get every datagram as it came.
    Repeater {
        /// Where they are, as `host:port`.
        to: Vec<String>,
        /// By TCP, with a line feed behind each.
        is_tcp: bool,
    },
    /// InfluxDB's line protocol.
    Influx(Web),
    /// OpenTelemetry's protocol over HTTP.
    Otlp(Web),
    /// A page that Prometheus asks for.
    Prometheus {
        /// Where it is served; without, only under `serve`, by the admin listener.
        listen: Option<SocketAddr>,
    },
}

impl BackendPlan {
    /// Whether what is sent later is still worth something: it has times of its own.
    pub fn may_come_later(&self) -> bool {
        matches!(self, Self::Graphite(_) | Self::Influx(_) | Self::Otlp(_))
    }
}

/// Where something is posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Web {
    /// The address, `http://` or `https://`.
    pub url: String,
    /// Fields to send along.
    pub headers: Vec<(String, String)>,
}

/// How names and numbers go to Graphite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graphite {
    /// `host:port`; nothing is sent without.
    pub to: Option<String>,
    /// By pickle instead of text.
    pub is_pickle: bool,
    /// `stats.…` and `stats_counts.…` instead of what the prefixes say.
    pub is_legacy: bool,
    /// The first part of all names.
    pub global_prefix: String,
    /// The part before counters.
    pub counters: String,
    /// The part before timers.
    pub timers: String,
    /// The part before gauges.
    pub gauges: String,
    /// The part before sets.
    pub sets: String,
    /// The last part of all names, before tags.
    pub suffix: String,
    /// Whether sums of counters are sent beside their rates.
    pub sends_counts: bool,
    /// What it does with a connection that it has read to its end.
    pub closing: Closing,
}

/// What a Graphite does with a connection that it has read to its end, and so when a flush counts
/// as delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// It closes it, as carbon does: then, and no sooner.
    Always,
    /// It leaves it open: when its system has taken everything.
    Never,
    /// Not known: as `Never` until it has closed one, then as `Always`. It is for flavours that
    /// keep no flush, and so could not send it again.
    Learned,
}

impl Default for Graphite {
    fn default() -> Self {
        Self {
            to: None,
            is_pickle: false,
            is_legacy: true,
            global_prefix: "stats".to_owned(),
            counters: "counters".to_owned(),
            timers: "timers".to_owned(),
            gauges: "gauges".to_owned(),
            sets: "sets".to_owned(),
            suffix: String::new(),
            sends_counts: true,
            closing: Closing::Always,
        }
    }
}

#[cfg(test)]
mod tests;
