//! What the statsd rows share: trials of one server by one sender, and their figures.
//!
//! Invariant: what was sent was received, or is in the server's own count of drops. With trains,
//! that count is one of trains. A trial of ours in which a datagram is missing is an error, not a
//! figure.

pub(super) mod blaster;
pub(super) mod buffers;
pub(super) mod lines;
pub(super) mod memory;
pub(super) mod source;

use std::time::Duration;

use anyhow::{Result, ensure};
use load::{Blast, Stop};

use crate::measure::Measurement;
use crate::peers::statsd::{Count, Statsd};

/// How one blast at one server went.
#[derive(Debug, Clone, Copy)]
struct Trial {
    sent: u64,
    received: u64,
    /// In what was received, as the server counts; 0 of one that does not.
    lines: u64,
    /// In the server's own count; none of one that does not count.
    dropped: Option<u64>,
    seconds: f64,
    cpu_seconds: f64,
}

/// What a sender sent.
#[derive(Debug, Clone, Copy)]
struct Sent {
    datagrams: u64,
    /// Of each datagram.
    bytes: usize,
    elapsed: Duration,
}

impl Trial {
    /// Blasts at `side`, and waits until it has taken everything in.
    fn run(side: &Statsd, blast: Blast) -> Result<Self> {
        let blast = Blast { target: side.server.address, ..blast };
        let bytes = blast.datagrams[0].len();
        let before = side.count()?;
        let sent = blast.run()?;
        let sent = Sent { datagrams: sent.datagrams, bytes, elapsed: sent.elapsed };
        Self::new(side, (&before, &side.count()?), sent)
    }

    fn new(side: &Statsd, (before, after): (&Count, &Count), sent: Sent) -> Result<Self> {
        let received = side.received((before, after), sent.datagrams, sent.bytes);
        let seconds = sent.elapsed.as_secs_f64();
        let sent = sent.datagrams;
        let dropped = side.counts_drops().then_some(after.dropped - before.dropped);
        if let Some(dropped) = dropped {
            ensure!(
                received + dropped == sent,
                "server `{}`: of {sent} datagrams {received} were received and {dropped} counted \
                 as dropped",
                side.server.name
            );
            let kernel = after.dropped_by_kernel - before.dropped_by_kernel;
            ensure!(dropped == kernel, "{dropped} drops are counted of the kernel's {kernel}");
        }
        let cpu_seconds = after.cpu.since(before.cpu).total_us() / 1e6;
        let lines = after.lines - before.lines;
        Ok(Self { sent, received, lines, dropped, seconds, cpu_seconds })
    }

    /// Datagrams received a second.
    fn rate(&self) -> f64 {
        self.received as f64 / self.seconds
    }

    /// Datagrams sent a second.
    fn offered(&self) -> f64 {
        self.sent as f64 / self.seconds
    }

    /// Datagrams received by CPU-second of the server.
    fn by_cpu(&self) -> f64 {
        self.received as f64 / self.cpu_seconds
    }

    /// Received, in percent of what was sent.
    fn share(&self) -> f64 {
        100.0 * self.received as f64 / self.sent as f64
    }
}

/// Runs `blast` at each side in alternating order; returns for each side its trials by round.
fn alternate(
    rounds: usize,
    sides: &[&Statsd],
    blast: &dyn Fn() -> Blast,
) -> Result<Vec<Vec<Trial>>> {
    let mut trials = vec![Vec::new(); sides.len()];
    for side in sides {
        Trial::run(side, Blast { stop: Stop::After(Duration::from_millis(200)), ..blast() })?;
    }
    for round in 0..rounds {
        for turn in 0..sides.len() {
            let at = (round + turn) % sides.len();
            trials[at].push(Trial::run(sides[at], blast())?);
        }
    }
    Ok(trials)
}

fn figure(case: &str, figure: &str, trials: &[Trial], of: fn(&Trial) -> f64) -> Measurement {
    Measurement::new(case, figure, trials.iter().map(of))
}

/// `of` of the left side over that of the right one, by round.
fn ratios(left: &[Trial], right: &[Trial], of: fn(&Trial) -> f64) -> Vec<f64> {
    left.iter().zip(right).map(|(left, right)| of(left) / of(right)).collect()
}
