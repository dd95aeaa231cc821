//! Defines what a probe is to do: what is called, when, how often, and how HTTP is spoken.
//!
//! Plain data, checked by `check` before the first call. Also how long a thread looks at the clock
//! before a call: docs/lab/probe.md says from which rate on `spin` is least.
//! Invariant: a plan that was checked has 1 to 64 targets, a rate above 0 and at most a million a
//! second. Its end and time-out are not zero, and its burst has 1 to [`IN_FLIGHT_MAX`] calls. That
//! number stands once more as 512 in a message of `check`, and in docs/lab/probe.md.
//! Methods, fields and authorities of HTTP are not checked here. Names in `HttpOptions::attributes`
//! must be in lower case. A target is read in `target.rs`, an authority in `tls.rs`. That statuses
//! below 400 are no failure also stands in the help and in docs/lab/probe.md.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::clock;
use super::target::ProbeTarget;
use crate::LabError;

/// Calls in flight at once: each has a thread.
pub const IN_FLIGHT_MAX: usize = 512;
/// Targets at once: each thread has a connection to each.
const TARGETS_MAX: usize = 64;

/// What is called, when and how often.
#[derive(Debug, Clone)]
pub struct Plan {
    /// One target or several, which are called in turns: each begins with one drawn at random.
    pub targets: Vec<ProbeTarget>,
    /// When no more calls are begun; those in flight are waited for.
    pub end: End,
    /// How calls, or bursts of them, arrive.
    pub arrivals: Arrivals,
    /// What one arrival is.
    pub burst: Burst,
    /// A call that takes longer has failed.
    pub timeout: Duration,
    /// Seed of the distances between arrivals and of the order of two targets.
    pub seed: u64,
    /// What `{n}` is in the first arrival; each has the next number.
    pub number_first: u64,
    /// Which addresses of a host are called.
    pub family: AddressFamily,
    /// How HTTP is spoken.
    pub http: HttpOptions,
}

/// When a probe ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// After so many arrivals at each target.
    Count(u64),
    /// After this time.
    After(Duration),
}

/// How calls arrive. Without a rate the first five come one after the other. The mean distance of
/// the rest is four times their median, 50 ms at least, so calls seldom overlap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrivals {
    /// At random, as independent clients do, so many a second on average.
    Poisson(Option<f64>),
    /// At even distances, so many a second.
    Uniform(Option<f64>),
    /// Each when the one before has ended.
    Closed,
}

/// Calls that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// How many, 1 at least.
    pub calls: u32,
    /// How long each is sent after the one before.
    pub stagger: Duration,
}

/// Addresses of a kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4 and IPv6, in the order in which the resolver gives them.
    #[default]
    Any,
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// How HTTP is spoken.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// The method.
    pub method: String,
    /// Fields beside those that are always sent; one of these of the same name is left out.
    pub fields: Vec<(String, String)>,
    /// The body; `{n}` in it is a number.
    pub body: Vec<u8>,
    /// Statuses that are no failure.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Whether a connection serves several calls.
    pub keeps_alive: bool,
    /// Whether any certificate is taken.
    pub is_insecure: bool,
    /// Certificates of the authorities to believe, in PEM; those of the web without it.
    pub authority: Option<PathBuf>,
    /// Fields of answers, in small letters, that become attributes of the calls.
    pub attributes: Vec<String>,
}

impl Plan {
    /// Returns a plan of single calls, one after the other, which may take 30 s each.
    pub fn of(targets: Vec<ProbeTarget>, end: End) -> Self {
        Self {
            targets,
            end,
            arrivals: Arrivals::Closed,
            burst: Burst { calls: 1, stagger: Duration::ZERO },
            timeout: Duration::from_secs(30),
            seed: 1,
            number_first: 0,
            family: AddressFamily::Any,
            http: HttpOptions::default(),
        }
    }

    /// # Errors
    /// What contradicts itself.
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let wrong = |reason: &str| Err(LabError::Plan(reason.to_owned()));
        let rate = match self.arrivals {
            Arrivals::Poisson(rate) | Arrivals::Uniform(rate) => rate,
            Arrivals::Closed => None,
        };
        if rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e6)) {
            return wrong(
                "the rate is a number of calls a second, more than 0 and at most 1000000",
            );
        }
        if !(1..=TARGETS_MAX).contains(&self.targets.len()) {
            return wrong("there are 1 to 64 targets");
        }
        let is_empty = matches!(self.end, End::Count(0) | End::After(Duration::ZERO));
        if is_empty || self.burst.calls == 0 || self.timeout.is_zero() {
            return wrong("a probe, a burst and a time-out are more than nothing");
        }
        if self.burst.calls as usize > IN_FLIGHT_MAX {
            return wrong("a burst is 512 calls at most: each has a thread");
        }
        Ok(())
    }

    /// Returns how many calls there will be, where that is known.
    pub fn planned(&self) -> Option<u64> {
        let End::Count(arrivals) = self.end else { return None };
        let calls = u64::from(self.burst.calls) * self.targets.len() as u64;
        Some(arrivals.saturating_mul(calls))
    }

    /// How long before its moment a call looks at the clock: a quarter of the mean distance between
    /// calls, within bounds. So the processor is not busy with waiting.
    pub(super) fn spin(&self) -> Duration {
        let rate = match self.arrivals {
            Arrivals::Poisson(Some(rate)) | Arrivals::Uniform(Some(rate)) => rate,
            _ => 0.0,
        };
        let calls = rate * f64::from(self.burst.calls);
        clock::SPIN_MAX.min(Duration::from_secs_f64(0.25 / calls.max(1.0))).max(clock::SPIN_MIN)
    }
}

impl HttpOptions {
    /// Whether a status is no failure.
    pub(super) fn expects(&self, status: u16) -> bool {
        self.statuses.iter().any(|range| range.contains(&status))
    }
}

impl Default for HttpOptions {
    /// A GET that takes every status below 400, over a new connection each time.
    fn default() -> Self {
        Self {
            method: "GET".to_owned(),
            fields: Vec::new(),
            body: Vec::new(),
            statuses: vec![100..=399],
            keeps_alive: false,
            is_insecure: false,
            authority: None,
            attributes: Vec::new(),
        }
    }
}

impl AddressFamily {
    pub(super) fn has(self, address: IpAddr) -> bool {
        match self {
            Self::Any => true,
            Self::V4 => address.is_ipv4(),
            Self::V6 => address.is_ipv6(),
        }
    }
}

impl fmt::Display for AddressFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "IPv4 or IPv6",
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        })
    }
}
