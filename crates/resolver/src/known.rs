//! Decides what is known of a name after a look-up, and when the next one is due.
//!
//! Invariants: addresses are sorted, IPv4 first, and none is there twice. A look-up that failed, or
//! found nothing, leaves the last good addresses. If only one kind of addresses could be looked up,
//! the last good ones of the other kind stay. A name that never had any of that kind does not miss
//! them. After a failure the next look-up is due by `retry_min`, doubling up to `retry_max`; else
//! by the TTL, within its bounds. Bound: the first `ADDRESSES_MAX` addresses of a name are used.
//! Addresses to which nobody can connect are left out. Never here: asking (`lookup`), clocks.

use std::net::IpAddr;
use std::time::Duration;

use stdx::Backoff;

use crate::options::Times;

/// Addresses of one name that are used; more are left out, and reported as a problem.
pub const ADDRESSES_MAX: usize = 256;

/// What a look-up found of one kind of addresses, A or AAAA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Family {
    /// These, for this time.
    Addresses(Vec<IpAddr>, Duration),
    /// The name has none.
    Empty,
    /// There is no answer, for this reason.
    Failed(String),
}

/// What a look-up found: A, then AAAA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found(pub(crate) Family, pub(crate) Family);

/// How a look-up ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupResult {
    /// The name has addresses.
    Found,
    /// There is no such name, or it has no address.
    Unknown,
    /// The name servers gave no answer, or an error.
    Failed,
}

/// What is known of a name after a look-up.
#[derive(Debug)]
pub struct Report<'r> {
    /// How the look-up ended.
    pub result: LookupResult,
    /// The addresses to use: sorted, none twice. After a problem they may be older.
    pub addresses: &'r [IpAddr],
    /// What an operator should look at.
    pub problem: Option<&'r str>,
}

/// What is known of one name.
#[derive(Debug)]
pub(crate) struct Known {
    addresses: Vec<IpAddr>,
    times: Times,
    backoff: Backoff,
}

impl Known {
    /// Nothing is known yet; `seed` spreads the retries of several names.
    pub(crate) fn new(times: Times, seed: u64) -> Self {
        let backoff = Backoff::new(times.retry_min, times.retry_max, seed);
        Self { addresses: Vec::new(), times, backoff }
    }

    /// Takes what a look-up found and reports it. Returns the time to the next look-up.
    pub(crate) fn take(&mut self, found: Found, report: &dyn Fn(&Report<'_>)) -> Duration {
        let (result, problem, ttl) = self.judge(found);
        report(&Report { result, addresses: &self.addresses, problem: problem.as_deref() });
        match ttl {
            Some(ttl) => {
                self.backoff.reset();
                ttl.clamp(self.times.ttl_min, self.times.ttl_max.max(self.times.ttl_min))
            }
            None => self.backoff.delay(),
        }
    }

    /// Returns how the look-up ended, what is wrong, and the TTL if nothing failed.
    fn judge(&mut self, found: Found) -> (LookupResult, Option<String>, Option<Duration>) {
        let mut addresses = Vec::new();
        let mut ttl = None::<Duration>;
        let mut failed = None;
        let mut has_missed = false;
        for (family, is_kind) in [
            (found.0, IpAddr::is_ipv4 as fn(&IpAddr) -> bool),
            (found.1, IpAddr::is_ipv6 as fn(&IpAddr) -> bool),
        ] {
            match family {
                Family::Addresses(found, lasts) => {
                    ttl = Some(ttl.map_or(lasts, |ttl| ttl.min(lasts)));
                    addresses.extend(found.into_iter().filter(is_usable));
                }
                Family::Empty => {}
                Family::Failed(reason) => {
                    let kept = addresses.len();
                    addresses.extend(self.addresses.iter().copied().filter(is_kind));
                    has_missed |= addresses.len() > kept;
                    failed.get_or_insert(reason);
                }
            }
        }
        match (ttl, failed) {
            (None, Some(reason)) => (LookupResult::Failed, Some(reason), None),
            _ if addresses.is_empty() => {
                (LookupResult::Unknown, Some("no such name, or it has no address".into()), None)
            }
            (_, reason) => {
                let over = self.keep(addresses);
                match reason.filter(|_| has_missed) {
                    Some(reason) => (LookupResult::Failed, Some(reason), None),
                    None => (LookupResult::Found, over, ttl),
                }
            }
        }
    }

    /// Keeps these addresses; returns what is wrong if they are too many.
    fn keep(&mut self, mut addresses: Vec<IpAddr>) -> Option<String> {
        addresses.sort_unstable();
        addresses.dedup();
        let count = addresses.len();
        addresses.truncate(ADDRESSES_MAX);
        self.addresses = addresses;
        (count > ADDRESSES_MAX)
            .then(|| format!("it has {count} addresses; the first {ADDRESSES_MAX} are used"))
    }
}

/// Whether it is the address of a machine. Some name servers answer 0.0.0.0 for what they block,
/// and to connect to that is to connect to this machine.
fn is_usable(address: &IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(v4) if v4.is_broadcast());
    !address.is_unspecified() && !address.is_multicast() && !is_broadcast
}
