//! Checks `[limits]`, and chooses the budget for bytes in flight by the memory of the machine.
//!
//! Invariant: the defaults are here, but for those of connections, which are in `chassis::Limits`.
//! The doc comments of `config` state all of them, and change with them. Never here: what happens
//! at a bound (`gateway`, `clients`, `chassis::http`).

use chassis::Limits;

use super::section::Section;
use crate::config::LimitsConfig;
use crate::plan::LimitsPlan;

/// The least budget that may be set.
const INFLIGHT_BYTES_LEAST: u64 = 1_000_000;

/// The least budget for bytes in flight that is chosen without being told.
const INFLIGHT_BYTES_MIN: u64 = 64_000_000;

/// The least share of a client that lets it send a body.
const CLIENT_BYTES_MIN: f64 = 64_000.0;

/// The part of the memory that bytes in flight may take.
const INFLIGHT_PART: u64 = 8;

pub(super) fn limits(section: &mut Section<'_, '_>, mut config: LimitsConfig) -> LimitsPlan {
    let connections = connections(section, &mut config);
    let inflight_bytes = inflight_bytes(section, config.inflight_bytes);
    let client_share = section.share("client_share", config.client_share, 0.5);
    if client_share == 0.0 {
        section.wrong("client_share", "is 0; then no client could send a body");
    }
    let is_budget = inflight_bytes as u64 >= INFLIGHT_BYTES_LEAST && client_share > 0.0;
    if is_budget && (inflight_bytes as f64 * client_share) < CLIENT_BYTES_MIN {
        section.wrong("client_share", "leaves a client less than 64 KB of `inflight_bytes`");
    }
    let mut limit = |key, given, default| section.at_least_one(key, given, default);
    LimitsPlan {
        connections,
        pending_max: limit("pending_max", config.pending_max, 4096),
        waiters_per_key_max: limit("waiters_per_key_max", config.waiters_per_key_max, 10_000),
        waiters_max: limit("waiters_max", config.waiters_max, 50_000),
        user_bytes_max: limit("user_bytes_max", config.user_bytes_max, 100),
        inflight_bytes,
        client_share,
        bypass_per_client_max: limit("bypass_per_client_max", config.bypass_per_client_max, 256),
        bypass_per_key_max: limit("bypass_per_key_max", config.bypass_per_key_max, 1024),
    }
}

/// Changes what is set of the usual bounds of connections.
fn connections(section: &mut Section<'_, '_>, config: &mut LimitsConfig) -> Limits {
    let mut limits = Limits::default();
    let max = config.connections_max;
    limits.connections_max = section.at_least_one("connections_max", max, limits.connections_max);
    for (key, given, timeout) in [
        ("idle_timeout", config.idle_timeout.take(), &mut limits.idle_timeout),
        ("head_timeout", config.head_timeout.take(), &mut limits.head_timeout),
        ("receive_timeout", config.receive_timeout.take(), &mut limits.receive_timeout),
        ("body_timeout", config.body_timeout.take(), &mut limits.body_timeout),
        ("send_timeout", config.send_timeout.take(), &mut limits.send_timeout),
        ("rate_grace", config.rate_grace.take(), &mut limits.rate_grace),
    ] {
        *timeout = section.span_above_zero(key, given, timeout.as_millis() as u64);
    }
    limits.rate_min = section.size_or_zero("rate_min", config.rate_min.take(), limits.rate_min);
    limits
}

fn inflight_bytes(section: &mut Section<'_, '_>, given: Option<String>) -> usize {
    let of_memory = stdx::memory_limit().unwrap_or(0) / INFLIGHT_PART;
    let default = of_memory.max(INFLIGHT_BYTES_MIN);
    let bytes = section.size_above_zero("inflight_bytes", given, default);
    if bytes < INFLIGHT_BYTES_LEAST {
        section.wrong("inflight_bytes", "too small for a few requests; write at least `1MB`");
    }
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
