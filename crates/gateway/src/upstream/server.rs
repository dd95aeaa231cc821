//! Holds the part of an upstream that all cores share: plan, health, workers, retries, tunnels.
//!
//! Invariant: it holds no connection, because those belong to one core. It is healthy if any server
//! is, or if its workers are ready. Either it has servers, or workers answer for it (the binary
//! passes them in). Never here: sending (`pool`), the rule of health (`health`).

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::budget::RetryBudget;
use super::health::Health;
use crate::plan::UpstreamPlan;
use crate::ports::Workers;

/// The part of an upstream that all cores share.
#[derive(Debug)]
pub struct Upstream {
    /// Its checked configuration.
    pub plan: UpstreamPlan,
    /// Its servers; none if workers answer.
    pub servers: Vec<UpstreamServer>,
    /// Its workers, if they answer.
    pub workers: Option<Arc<dyn Workers>>,
    /// Its retry budget; without one there are no retries.
    pub(crate) retry: Option<RetryBudget>,
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
    /// Its health.
    pub health: Health,
}

impl Upstream {
    /// Makes the upstream of a plan; `workers` answer for it if the plan names no servers.
    pub(crate) fn new(plan: UpstreamPlan, workers: Option<Arc<dyn Workers>>) -> Self {
        let health = |address: &SocketAddr| UpstreamServer {
            address: *address,
            health: Health::new(plan.health.as_ref()),
        };
        let servers = plan.servers.iter().map(health).collect();
        let retry = plan.retry.map(RetryBudget::new);
        Self { servers, workers, retry, tunnels: AtomicUsize::new(0), plan }
    }

    /// Whether any server is healthy, or the workers are ready.
    pub fn is_healthy(&self) -> bool {
        self.servers.iter().any(|server| server.health.is_healthy())
            || self.workers.as_ref().is_some_and(|workers| workers.is_ready())
    }
}
