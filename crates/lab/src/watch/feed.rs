//! Tells a statsd server of calls and signals, in its text protocol over UDP.
//!
//! Calls are timers `lab.TARGET.time`, failures counters `lab.TARGET.failed`. Sums of signals are
//! counters `lab.host.NAME`, levels gauges. Names keep letters and digits; all else is `_`.
//! Invariant: a datagram is at most [`DATAGRAM_BYTES`], and holds whole lines. Sums of an interval
//! are gathered and sent once a second.
//! Failure: what the network refuses is lost, as statsd's clients are expected to.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use verdicts::{Series, SignalKind};

use super::counters::Grown;
use crate::LabError;

/// What fits into one packet of Ethernet.
const DATAGRAM_BYTES: usize = 1_432;
const GATHERED: Duration = Duration::from_secs(1);

/// A server that is told.
pub(super) struct StatsdFeed {
    socket: UdpSocket,
    /// Sums, and whether they are levels, by name.
    signals: BTreeMap<String, (f64, bool)>,
    lines: Vec<String>,
    sent: Instant,
}

impl StatsdFeed {
    pub(super) fn new(address: &str) -> Result<Self, LabError> {
        let what = || format!("send to statsd at `{address}`");
        let refused = |source| LabError::System { what: what(), source };
        let socket = UdpSocket::bind("[::]:0").or_else(|_| UdpSocket::bind("0.0.0.0:0"));
        let socket = socket.map_err(refused)?;
        socket.connect(address).map_err(refused)?;
        let (signals, lines) = (BTreeMap::new(), Vec::new());
        Ok(Self { socket, signals, lines, sent: Instant::now() })
    }

    pub(super) fn calls(&mut self, target: &str, series: &Series) {
        let target = statsd_name(target);
        let times = series.total_ms.iter().map(|ms| format!("lab.{target}.time:{ms:.3}|ms"));
        self.lines.extend(times);
        let failed = series.left_out.total();
        if failed > 0 {
            self.lines.push(format!("lab.{target}.failed:{failed}|c"));
        }
    }

    pub(super) fn signal(&mut self, grown: Grown<'_>) {
        let name = format!("lab.host.{}", statsd_name(grown.name));
        let entry = self.signals.entry(name).or_insert((0.0, grown.kind != SignalKind::Sum));
        match grown.kind {
            SignalKind::Sum => entry.0 += grown.amount,
            SignalKind::Level => entry.0 = grown.amount,
            SignalKind::Peak => entry.0 = entry.0.max(grown.amount),
        }
    }

    /// Sends what was gathered, once a second.
    pub(super) fn send(&mut self) {
        if self.sent.elapsed() < GATHERED {
            return;
        }
        self.sent = Instant::now();
        self.flush();
    }

    /// Sends what was gathered.
    pub(super) fn flush(&mut self) {
        let signals =
            std::mem::take(&mut self.signals).into_iter().map(|(name, (sum, is_level))| {
                format!("{name}:{sum:.3}|{}", if is_level { "g" } else { "c" })
            });
        self.lines.extend(signals);
        let mut datagram = String::new();
        for line in self.lines.drain(..) {
            if !datagram.is_empty() && datagram.len() + line.len() >= DATAGRAM_BYTES {
                let _ = self.socket.send(datagram.as_bytes());
                datagram.clear();
            }
            let gap = if datagram.is_empty() { "" } else { "\n" };
            // Writing to a text cannot fail.
            let _ = write!(datagram, "{gap}{line}");
        }
        if !datagram.is_empty() {
            let _ = self.socket.send(datagram.as_bytes());
        }
    }
}

/// A name of which statsd and Graphite take every letter.
fn statsd_name(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let name: String = name.chars().map(plain).collect();
    name.trim_matches('_').to_owned()
}
