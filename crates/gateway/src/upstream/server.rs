//! An upstream as all cores see it: its plan, the health of its servers, its retry budget.

use std::net::SocketAddr;
use std::sync::Arc;

use super::budget::RetryBudget;
use super::health::Health;
use crate::plan::UpstreamPlan;
use crate::ports::Workers;

/// An upstream as all cores see it.
#[derive(Debug)]
pub struct Upstream {
    /// What is to be done.
    pub plan: UpstreamPlan,
    /// Its servers; none when workers answer.
    pub servers: Vec<UpstreamServer>,
    /// Its workers.
    pub workers: Option<Arc<dyn Workers>>,
    /// Retries that may still be made.
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
    /// An upstream as planned; `workers` answer for it when its plan names no servers.
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
