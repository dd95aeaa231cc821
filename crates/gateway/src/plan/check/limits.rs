//! Checks `[limits]`, and chooses the budget for bytes in flight by the memory of the machine.
//!
//! Invariant: the defaults are here; the doc comments of `config` state them, and change with them.
//! A changed default of a timeout or rate also changes that of `chassis::Limits`. Never here: what
//! happens at a bound (`gateway`, `clients`, `chassis::http`).

use chassis::{TrustedProxies, Underscores};

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

pub(super) fn limits(section: &mut Section<'_, '_>, config: LimitsConfig) -> LimitsPlan {
    let mut limit = |key, given, default| section.at_least_one(key, given, default);
    let (pending_max, waiters_per_key_max, waiters_max) = (
        limit("pending_max", config.pending_max, 4096),
        limit("waiters_per_key_max", config.waiters_per_key_max, 10_000),
        limit("waiters_max", config.waiters_max, 50_000),
    );
    let (connections_max, user_bytes_max, bypass_per_client_max, bypass_per_key_max) = (
        limit("connections_max", config.connections_max, 50_000),
        limit("user_bytes_max", config.user_bytes_max, 100),
        limit("bypass_per_client_max", config.bypass_per_client_max, 256),
        limit("bypass_per_key_max", config.bypass_per_key_max, 1024),
    );
    let inflight_bytes = inflight_bytes(section, config.inflight_bytes);
    let client_share = section.share("client_share", config.client_share, 0.5);
    if client_share == 0.0 {
        section.wrong("client_share", "is 0; then no client could send a body");
    }
    let is_budget = inflight_bytes as u64 >= INFLIGHT_BYTES_LEAST;
    if is_budget && (inflight_bytes as f64 * client_share) < CLIENT_BYTES_MIN {
        section.wrong("client_share", "leaves a client less than 64 KB of `inflight_bytes`");
    }
    let mut span = |key, given, default_ms| section.span_above_zero(key, given, default_ms);
    LimitsPlan {
        pending_max,
        waiters_per_key_max,
        waiters_max,
        connections_max,
        user_bytes_max,
        inflight_bytes,
        client_share,
        bypass_per_client_max,
        bypass_per_key_max,
        idle_timeout: span("idle_timeout", config.idle_timeout, 75_000),
        head_timeout: span("head_timeout", config.head_timeout, 20_000),
        receive_timeout: span("receive_timeout", config.receive_timeout, 20_000),
        body_timeout: span("body_timeout", config.body_timeout, 300_000),
        send_timeout: span("send_timeout", config.send_timeout, 30_000),
        rate_grace: span("rate_grace", config.rate_grace, 10_000),
        underscores: Underscores::Drop,
        trusted: TrustedProxies::default(),
        rate_min: section.size_or_zero("rate_min", config.rate_min, 1000),
    }
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
