//! Says what a run does: where to, how requests arrive, when it stops, over how many connections.
//!
//! `share` cuts a plan into parts for threads that run side by side. Invariant: counts, connections
//! and rates of the parts add up to those of the whole. Given times are dealt out in turn: part `p`
//! of `n` gets each `n`th, from the `p`th on. `lab` deals out the calls of a trace in the same way
//! (`load_test/plan.rs`), so both change together.
//! Seeds differ by part. Evenly spaced parts are not interleaved: their arrivals fall on the same
//! moments.
//! `lab` takes the middle between both rates of a ramp for its mean rate, in the same file.
//! `check` refuses a plan without connections, without depth, without a positive rate, or with
//! times out of order. It knows nothing of time-outs or of the target, and passes a new kind of
//! [`Arrivals`] unchecked.
//! Never here: the times themselves (`schedule`), and carrying a plan out (`event_loop`).

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::{ChannelSource, LoadError, Target};

/// How requests arrive.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// As fast as replies come: every connection keeps `depth` requests in flight.
    Closed {
        /// Requests in flight on each connection; 1 is plain keep-alive.
        depth: usize,
    },
    /// At even distances, `rate` requests per second, whatever the server does.
    Uniform {
        /// Requests per second.
        rate: f64,
    },
    /// At random, as independent clients do: a Poisson process of `rate` per second.
    Poisson {
        /// Mean requests per second.
        rate: f64,
        /// Seed of the distances, so that a run can be repeated.
        seed: u64,
    },
    /// At a rate that changes while the plan runs.
    Ramp {
        /// Which rate when; it begins when the warm-up ends, whose rate is the first.
        ramp: Ramp,
        /// Seed of a Poisson process of that rate; even distances without.
        seed: Option<u64>,
    },
    /// At these nanoseconds since the start, in order; after the last the run stops.
    At(Arc<[u64]>),
}

/// A rate that changes evenly, or by steps of equal length, and then stays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ramp {
    /// Requests per second at the beginning.
    pub from: f64,
    /// Requests per second at the end, more or fewer.
    pub to: f64,
    /// How long it takes.
    pub over: Duration,
    /// In so many steps, the first at `from` and the last at `to`; evenly without.
    pub steps: Option<NonZeroU32>,
}

/// When no more requests are started; those in flight are still waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// After this time, warm-up not counted.
    After(Duration),
    /// After this many requests, those of the warm-up not counted.
    Count(u64),
}

/// One run of the generator.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The server.
    pub target: Target,
    /// How requests arrive.
    pub arrivals: Arrivals,
    /// When to stop.
    pub stop: Stop,
    /// Requests started during this first span are made but not reported.
    pub warm_up: Duration,
    /// Connections opened before the clock starts.
    pub connections: usize,
    /// Open loop only: connections are added up to this many while all are busy; beyond it
    /// arrivals queue, and their latency keeps counting.
    pub connections_max: usize,
    /// Open loop only: requests that a connection has in flight at most. A second one is put on a
    /// connection when none is without; connections are added when all have so many.
    pub depth_max: usize,
    /// What requests go through on their way, such as TLS; the socket itself without it.
    pub channel: Option<Arc<dyn ChannelSource>>,
    /// A request without a complete reply after this long is an error, its connection closed.
    pub timeout: Duration,
    /// Stops the run early when it becomes true, checked about every 100 ms once connections are
    /// open.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl Plan {
    /// Returns a closed loop over `connections` connections, one request in flight on each.
    pub fn closed(target: Target, connections: usize, stop: Stop) -> Self {
        Self {
            target,
            arrivals: Arrivals::Closed { depth: 1 },
            stop,
            warm_up: Duration::ZERO,
            connections,
            connections_max: connections,
            depth_max: 1,
            channel: None,
            timeout: Duration::from_secs(30),
            cancel: None,
        }
    }

    /// Returns an open loop that starts with `connections` connections and adds up to 1,024.
    pub fn open(target: Target, arrivals: Arrivals, connections: usize, stop: Stop) -> Self {
        let connections_max = connections.max(1024);
        Self { arrivals, connections_max, ..Self::closed(target, connections, stop) }
    }

    /// Returns part `part` of this plan cut into `parts`, which together make the whole.
    pub fn share(&self, part: usize, parts: usize) -> Self {
        let cut = |whole: usize| whole / parts + usize::from(part < whole % parts);
        let stop = match self.stop {
            Stop::Count(count) => {
                let (part, parts) = (part as u64, parts as u64);
                Stop::Count(count / parts + u64::from(part < count % parts))
            }
            after @ Stop::After(_) => after,
        };
        let slower = |rate: f64| rate / parts as f64;
        let other = |seed: u64| seed.wrapping_add(part as u64);
        let arrivals = match &self.arrivals {
            Arrivals::Uniform { rate } => Arrivals::Uniform { rate: slower(*rate) },
            Arrivals::Poisson { rate, seed } => {
                Arrivals::Poisson { rate: slower(*rate), seed: other(*seed) }
            }
            Arrivals::Ramp { ramp, seed } => Arrivals::Ramp {
                ramp: Ramp { from: slower(ramp.from), to: slower(ramp.to), ..*ramp },
                seed: seed.map(other),
            },
            Arrivals::At(times) => {
                Arrivals::At(times.iter().skip(part).step_by(parts).copied().collect())
            }
            closed @ Arrivals::Closed { .. } => closed.clone(),
        };
        Self {
            stop,
            arrivals,
            connections: cut(self.connections),
            connections_max: cut(self.connections_max),
            ..self.clone()
        }
    }

    /// Whether it is to stop early.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Refuses a plan that cannot be carried out.
    pub(crate) fn check(&self) -> Result<(), LoadError> {
        if self.connections == 0 {
            return Err(LoadError::Plan("needs at least one connection"));
        }
        if self.depth_max == 0 {
            return Err(LoadError::Plan("depth must be at least 1"));
        }
        let is_rate = |rate: f64| rate >= 0.0 && rate.is_finite();
        match &self.arrivals {
            Arrivals::Closed { depth: 0 } => Err(LoadError::Plan("depth must be at least 1")),
            Arrivals::Uniform { rate } | Arrivals::Poisson { rate, .. }
                if !is_rate(*rate) || *rate == 0.0 =>
            {
                Err(LoadError::Plan("rate must be a positive number of requests per second"))
            }
            Arrivals::Ramp { ramp, .. }
                if !(is_rate(ramp.from) && is_rate(ramp.to)) || ramp.from.max(ramp.to) == 0.0 =>
            {
                Err(LoadError::Plan("a ramp leads from one rate to another, one of them above 0"))
            }
            Arrivals::At(times) if !times.is_sorted() => {
                Err(LoadError::Plan("the times of arrivals must be in order"))
            }
            _ => Ok(()),
        }
    }
}
