//! Holds the part of an upstream that all cores share: its plan, health, workers and retry budget.
//!
//! Invariant: it holds no connection, because those belong to one core. It is healthy if any server
//! is, or if its workers are ready. Either it has servers, or workers answer for it (the binary
//! passes them in). Never here: sending (`pool`), the rule of health (`health`).

use std::net::SocketAddr;
use std::sync::Arc;

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
        Self { servers, workers, retry: plan.retry.map(RetryBudget::new), plan }
    }

    /// Whether any server is healthy, or the workers are ready.
    pub fn is_healthy(&self) -> bool {
        self.servers.iter().any(|server| server.health.is_healthy())
            || self.workers.as_ref().is_some_and(|workers| workers.is_ready())
    }
}
