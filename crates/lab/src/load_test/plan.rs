//! Defines what a load test is to do, and cuts it into parts: which thread makes which calls.
//!
//! Servers get threads, connections and counts by their part of the calls, rounded, one at least.
//! So a count over several servers may differ by a few calls. Rates are not rounded. `Arrivals::At`
//! without a trace goes to each server whole. Servers share one seed: those with equal parts are
//! called at the same moments.
//! Invariant: every call of a trace is in the part of exactly one thread. `parts` deals its calls
//! out as `Plan::share` of `load` deals out its times: one cannot change without the other. A part
//! has a call to make, which `recorder.rs` relies on; its count may be 0 where there are fewer
//! calls than threads.
//! A new kind of `Arrivals` goes to each server whole and counts as steady, until `slower` and
//! `changes_its_rate` know it. `rate` takes the middle of a ramp's two rates for its mean, which
//! one of a single step does not have.
//! Failure: without calls there is an error. Rates are checked by `load`; the warm-up and the
//! time-out are checked nowhere.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use load::{Arrivals, Plan, Ramp, Stop, Target};

use super::calls::HttpCall;
use super::tls::{TlsSource, TlsTrust};
use super::trace::Trace;
use crate::LabError;

/// When calls are made.
#[derive(Debug, Clone, PartialEq)]
pub enum Pacing {
    /// Over so many connections, the next one when the reply is there.
    Closed {
        /// How many.
        connections: usize,
    },
    /// By an engine's law of arrivals.
    Open(Arrivals),
    /// As a trace has them.
    Trace(Trace),
}

/// A run of load.
#[derive(Debug, Clone)]
pub struct LoadTest {
    /// When calls are made.
    pub pace: Pacing,
    /// When no more are made; a trace ends by itself, too.
    pub stop: Stop,
    /// Calls of this first span are made and not measured.
    pub warm_up: Duration,
    /// A call without a reply after this long has failed.
    pub timeout: Duration,
    /// Threads that send; each server has at least one.
    pub threads: usize,
    /// Connections that are opened before an open loop begins.
    pub connections: usize,
    /// Connections that an open loop opens at most.
    pub connections_max: usize,
    /// Calls that a connection has in flight at most, at least 1; more than one are pipelined.
    pub pipeline: usize,
    /// Whose certificates are believed over TLS.
    pub tls: TlsTrust,
    /// Calls of which each is kept; of more a random sample of so many.
    pub kept_max: usize,
    /// Ends the run when it becomes true.
    pub cancel: Arc<AtomicBool>,
}

/// What one thread does.
#[derive(Debug)]
pub(super) struct ThreadPlan {
    pub(super) plan: Plan,
    /// Numbers of its calls, in the order in which they are made.
    pub(super) order: Arc<[u32]>,
    /// Where in that order it begins.
    pub(super) at: usize,
}

/// The calls to one server.
#[derive(Debug)]
struct ServerCalls {
    target: Target,
    certified: Option<String>,
    calls: Vec<u32>,
}

impl LoadTest {
    /// Returns the calls per second that are intended in the mean over the measured time, as far as
    /// that is known beforehand.
    pub fn rate(&self) -> Option<f64> {
        match &self.pace {
            Pacing::Closed { .. } | Pacing::Open(Arrivals::Closed { .. }) => None,
            Pacing::Open(Arrivals::Uniform { rate } | Arrivals::Poisson { rate, .. }) => {
                Some(*rate)
            }
            Pacing::Open(Arrivals::Ramp { ramp, .. }) => Some(f64::midpoint(ramp.from, ramp.to)),
            Pacing::Open(Arrivals::At(times)) => rate_of(times),
            Pacing::Trace(trace) => rate_of(&trace.at_ns),
        }
    }

    /// Returns whether the rate changes while it runs.
    pub(super) fn changes_its_rate(&self) -> bool {
        matches!(
            &self.pace,
            Pacing::Trace(_) | Pacing::Open(Arrivals::Ramp { .. } | Arrivals::At(_))
        )
    }

    /// Cuts the run into the parts of its threads.
    pub(super) fn parts(&self, calls: &[HttpCall]) -> Result<Vec<ThreadPlan>, LabError> {
        let groups = groups(calls);
        if groups.is_empty() {
            return Err(LabError::Input("there is nothing to call".to_owned()));
        }
        let mut parts = Vec::new();
        for group in &groups {
            let share = group.calls.len() as f64 / calls.len() as f64;
            let (mut plan, order) = self.plan(group, calls.len());
            if let Some(host) = &group.certified {
                plan.channel = Some(Arc::new(TlsSource::new(host, &self.tls)?));
            }
            let threads = (self.threads as f64 * share).round() as usize;
            let threads = threads.clamp(1, plan.connections.max(1));
            for part in 0..threads {
                let (order, at) = match &self.pace {
                    // As `Plan::share` shares the times.
                    Pacing::Trace(_) => {
                        (order.iter().skip(part).step_by(threads).copied().collect(), 0)
                    }
                    _ => (Arc::clone(&order), part * order.len() / threads),
                };
                // A thread with nothing to do would have no order to go by.
                if !order.is_empty() {
                    parts.push(ThreadPlan { plan: plan.share(part, threads), order, at });
                }
            }
        }
        if parts.is_empty() {
            return Err(LabError::Input("there is nothing to call".to_owned()));
        }
        Ok(parts)
    }

    /// The plan of one server's share of `all` calls, and its calls in order.
    fn plan(&self, group: &ServerCalls, all: usize) -> (Plan, Arc<[u32]>) {
        let share = group.calls.len() as f64 / all as f64;
        let cut = |count: usize| ((count as f64 * share).round() as usize).max(1);
        let order: Arc<[u32]> = group.calls.as_slice().into();
        let (arrivals, order) = match &self.pace {
            Pacing::Closed { .. } => (Arrivals::Closed { depth: self.pipeline }, order),
            Pacing::Open(arrivals) => (slower(arrivals, share), order),
            Pacing::Trace(trace) => {
                let in_turn = (0..all as u32).cycle();
                let given = trace.calls.iter().copied();
                let calls: Box<dyn Iterator<Item = u32>> =
                    if trace.calls.is_empty() { Box::new(in_turn) } else { Box::new(given) };
                let rows = trace.at_ns.iter().zip(calls);
                let rows = rows.filter(|(_, call)| group.calls.binary_search(call).is_ok());
                let (at, order): (Vec<u64>, Vec<u32>) = rows.unzip();
                (Arrivals::At(at.into()), order.into())
            }
        };
        let stop = match self.stop {
            Stop::Count(count) => Stop::Count(((count as f64 * share).round() as u64).max(1)),
            stop => stop,
        };
        let connections = match self.pace {
            Pacing::Closed { connections } => connections,
            Pacing::Open(_) | Pacing::Trace(_) => self.connections,
        };
        let plan = Plan {
            warm_up: self.warm_up,
            timeout: self.timeout,
            connections_max: cut(self.connections_max.max(connections)),
            depth_max: self.pipeline,
            cancel: Some(Arc::clone(&self.cancel)),
            ..Plan::open(group.target.clone(), arrivals, cut(connections), stop)
        };
        (plan, order)
    }
}

/// The calls by server, in the order in which servers first occur.
fn groups(calls: &[HttpCall]) -> Vec<ServerCalls> {
    let mut groups: Vec<ServerCalls> = Vec::new();
    for (number, call) in (0..).zip(calls) {
        match groups
            .iter_mut()
            .find(|group| group.target == call.target && group.certified == call.certified)
        {
            Some(group) => group.calls.push(number),
            None => groups.push(ServerCalls {
                target: call.target.clone(),
                certified: call.certified.clone(),
                calls: vec![number],
            }),
        }
    }
    groups
}

/// A share of the arrivals.
fn slower(arrivals: &Arrivals, share: f64) -> Arrivals {
    match arrivals {
        Arrivals::Uniform { rate } => Arrivals::Uniform { rate: rate * share },
        Arrivals::Poisson { rate, seed } => Arrivals::Poisson { rate: rate * share, seed: *seed },
        Arrivals::Ramp { ramp, seed } => Arrivals::Ramp {
            ramp: Ramp { from: ramp.from * share, to: ramp.to * share, ..*ramp },
            seed: *seed,
        },
        other => other.clone(),
    }
}

fn rate_of(times: &[u64]) -> Option<f64> {
    let span = times.last()?.checked_sub(*times.first()?)? as f64 / 1e9;
    (span > 0.0).then(|| (times.len() - 1) as f64 / span)
}
