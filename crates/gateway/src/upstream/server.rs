//! Holds the part of an upstream that all cores share: plan, servers, workers, retries, tunnels.
//!
//! Invariants: it holds no connection, because those belong to one core. It is healthy if any
//! server is and takes connections (`trouble`), or if its workers are ready. Either it has servers,
//! or workers answer for it (the binary passes them in). The list of servers is replaced whole. A
//! server that stays is the same object, so it keeps its health. `is_healthy` takes no lock,
//! because hits ask for it. So whoever changes the list or a health must `judge` afterwards. Never
//! here: sending (`pool`), the rule of health (`health`), which servers there are (`names`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::budget::RetryBudget;
use super::error_share::{ErrorShare, Errors};
use super::health::Health;
use super::place::Place;
use super::trouble::Trouble;
use crate::plan::UpstreamPlan;
use crate::ports::Workers;

/// The servers of an upstream at one time.
pub(crate) type ServerList = Arc<[Arc<UpstreamServer>]>;

/// The part of an upstream that all cores share.
#[derive(Debug)]
pub struct Upstream {
    /// Its checked configuration.
    pub plan: UpstreamPlan,
    /// Its servers; none if workers answer, or while no name has an address.
    pub(super) servers: watch::Sender<ServerList>,
    /// What is known of each place of the plan.
    pub(super) places: Mutex<Vec<Place>>,
    /// Whether a server is healthy.
    has_healthy: AtomicBool,
    /// Held while that is found out.
    judging: Mutex<()>,
    /// Its workers, if they answer.
    pub workers: Option<Arc<dyn Workers>>,
    /// Its retry budget; without one there are no retries.
    pub(crate) retry: Option<RetryBudget>,
    /// How many of its answers are errors.
    pub(super) error_share: ErrorShare,
    /// Tunnels to it, over all cores.
    tunnels: AtomicUsize,
}

/// A place for one tunnel to an upstream; free again when dropped.
#[derive(Debug)]
pub(super) struct TunnelPlace(Arc<Upstream>);

impl TunnelPlace {
    /// Takes a place, unless `tunnels_max` are taken.
    pub(super) fn take(upstream: &Arc<Upstream>) -> Option<Self> {
        let before = upstream.tunnels.fetch_add(1, Ordering::Relaxed);
        let place = Self(Arc::clone(upstream));
        (before < upstream.plan.tunnels_max).then_some(place)
    }
}

impl Drop for TunnelPlace {
    fn drop(&mut self) {
        self.0.tunnels.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One server of an upstream.
#[derive(Debug)]
pub struct UpstreamServer {
    /// Its address.
    pub address: SocketAddr,
    /// Its health, as probes say.
    pub health: Health,
    /// What requests have met there.
    pub trouble: Trouble,
    /// Which place of the plan it is at: servers of one place are those of one name.
    pub(super) place: usize,
}

impl Upstream {
    /// Makes the upstream of a plan; `workers` answer for it if the plan names no servers.
    pub(crate) fn new(plan: UpstreamPlan, workers: Option<Arc<dyn Workers>>) -> Self {
        let places = plan.servers.iter().map(Place::new).collect();
        let upstream = Self {
            servers: watch::Sender::default(),
            places: Mutex::new(places),
            has_healthy: AtomicBool::new(false),
            judging: Mutex::default(),
            workers,
            retry: plan.retry.map(RetryBudget::new),
            error_share: ErrorShare::default(),
            tunnels: AtomicUsize::new(0),
            plan,
        };
        upstream.list_servers(&mut upstream.places.lock());
        upstream
    }

    /// Returns the servers of now.
    pub fn servers(&self) -> Arc<[Arc<UpstreamServer>]> {
        Arc::clone(&self.servers.borrow())
    }

    /// Whether a server is one of it now.
    pub(super) fn has(&self, server: &Arc<UpstreamServer>) -> bool {
        self.servers.borrow().iter().any(|other| Arc::ptr_eq(other, server))
    }

    /// Whether any server is healthy and takes connections, or the workers are ready.
    pub fn is_healthy(&self) -> bool {
        self.has_healthy.load(Ordering::Relaxed)
            || self.workers.as_ref().is_some_and(|workers| workers.is_ready())
    }

    /// Counts a probe of a server; returns its new health if that has changed.
    pub(crate) fn note(&self, server: &UpstreamServer, good: bool) -> Option<bool> {
        let changed = server.health.note(good, self.plan.health.as_ref()?);
        if changed.is_some() {
            self.judge();
        }
        changed
    }

    /// Counts an answer.
    pub(super) fn note_status(&self, status: u16) {
        if let Some(Errors { errors, answers }) = self.error_share.note(status, Instant::now()) {
            let upstream = &*self.plan.name;
            tracing::warn!(upstream, errors, answers, status, "an upstream answers with errors");
        }
    }

    /// Returns what is wrong with its answers of the last ten seconds, if anything is.
    pub fn failing(&self) -> Option<String> {
        let Errors { errors, answers } = self.error_share.trouble(Instant::now())?;
        Some(format!("{errors} of its last {answers} answers were errors of its own (5xx)"))
    }

    /// Finds out whether a server is healthy. Who comes last sees what all before have changed.
    pub(super) fn judge(&self) {
        let _judging = self.judging.lock();
        let is_there = |server: &Arc<UpstreamServer>| {
            server.health.is_healthy() && !server.trouble.is_unreachable()
        };
        let has_healthy = self.servers.borrow().iter().any(is_there);
        self.has_healthy.store(has_healthy, Ordering::Relaxed);
    }
}
