//! Fits the number of client connections to the file descriptors that the process may have.
//!
//! Without a descriptor, nothing works any more: no connection to an upstream, no page for the
//! operator, no new segment of the journal. So some are kept back from clients. One more client
//! gets 503 at its bound (`chassis::listen`), and is counted.
//! Invariant: clients leave descriptors for all connections to upstreams that the configuration
//! allows, and `KEPT_BACK` more. Where the limit is too low, they leave three quarters of it.
//! How many addresses a name will have is not known: it counts as `NAME_SERVERS` servers. Addresses
//! beyond these share what is left for upstreams.
//! Unused descriptors cost nothing, so the soft limit is raised to the hard one.

use gateway::{ServerPlan, UpstreamPlan};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for files, the admin listener, workers, sinks and what they load.
const KEPT_BACK: usize = 256;

/// Servers that a name counts as.
const NAME_SERVERS: usize = 4;

/// Connections of a core below which the operator is warned.
const FEW: usize = 1000;

/// Raises the limit of descriptors, and lowers `connections_max` to what it allows.
pub(crate) fn fit(plan: &mut gateway::Plan, edge_cores: usize) {
    let limit = raised();
    let servers = |server: &ServerPlan| match server {
        ServerPlan::Address(_) => 1,
        ServerPlan::Name { .. } => NAME_SERVERS,
    };
    let to_upstream = |upstream: &UpstreamPlan| match &upstream.servers[..] {
        [] => 0,
        all => {
            let servers: usize = all.iter().map(servers).sum();
            upstream.connections_max * servers * edge_cores + upstream.tunnels_max
        }
    };
    let to_upstreams = plan.upstreams.iter().map(to_upstream).sum();
    let limits = &mut plan.limits.connections;
    let allowed = allowed(limit, to_upstreams, edge_cores);
    if allowed < limits.connections_max {
        let message = "the limit of file descriptors bounds the connections of a core";
        if allowed < FEW {
            let hint = "raise it: `ulimit -n`, or systemd's `LimitNOFILE`";
            tracing::warn!(limit, connections_max = allowed, hint, "{message}");
        } else {
            tracing::info!(limit, connections_max = allowed, "{message}");
        }
        limits.connections_max = allowed;
    }
}

/// Raises the soft limit to the hard one; returns what is in force.
fn raised() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = Rlimit { current: maximum, maximum };
    let in_force = match setrlimit(Resource::Nofile, wanted) {
        Ok(()) => maximum,
        Err(_) => current,
    };
    in_force.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// Returns the client connections of one edge thread.
fn allowed(limit: usize, to_upstreams: usize, edge_cores: usize) -> usize {
    let kept_back = KEPT_BACK.saturating_add(to_upstreams).min(limit / 4 * 3);
    ((limit - kept_back) / edge_cores.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use super::allowed;

    #[test]
    fn clients_leave_descriptors_for_everything_else() {
        for (limit, to_upstreams, cores, expected) in [
            (1_048_576, 1024, 8, (1_048_576 - 1280) / 8),
            (1024, 0, 2, (1024 - 256) / 2),
            (1024, 4096, 2, 128),
            (64, 1024, 2, 8),
            (1, 0, 4, 1),
            (usize::MAX, 0, 1, usize::MAX - 256),
        ] {
            assert_eq!(allowed(limit, to_upstreams, cores), expected, "{limit}");
        }
    }
}
