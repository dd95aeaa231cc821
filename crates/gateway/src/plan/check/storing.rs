//! Checks what is stored and how it is encoded: `[cache] disk`; `cache` and `compress` of routes.
//!
//! Invariant: a route that personalises never stores a `Set-Cookie`: `store` becomes `refuse`. A
//! `strict` route stores even without `cache`, for its `hold`. A disk of less than 16 MB is an
//! error, and so is a route that wants a disk where there is none. The doc comments of `config` and
//! pages of docs/ state the defaults, and change with them. Never here: `[cache] bytes`
//! (`plan::check`), storing (`fetch`), encoding (`cache`, `reply::streaming`).

use std::time::Duration;

use cache::{DiskPlan, DiskTimes};
use http1::accept::{Coding, Codings};

use super::section::Section;
use crate::compression::Compression;
use crate::config::{CacheConfig, CompressConfig, DiskConfig};
use crate::freshness::{Policy, SetCookie};
use crate::plan::CachePlan;

/// Bytes of the smallest cache on disk: those of a few write batches.
const DISK_BYTES_MIN: u64 = 16_000_000;

/// Default for the longest body that is stored.
const STORED_BODY_BYTES_MAX: u64 = 4_000_000;

/// Checks the second tier.
pub(super) fn disk(section: &mut Section<'_, '_>, config: DiskConfig) -> DiskPlan {
    let bytes = section.size_above_zero("disk.bytes", config.bytes, 10_000_000_000);
    if bytes < DISK_BYTES_MIN {
        section.wrong("disk.bytes", "too small for a cache on disk; write at least `16MB`");
    }
    let dir = config.dir.unwrap_or_else(|| "data/cache".to_owned()).into();
    DiskPlan { dir, bytes, times: DiskTimes::default() }
}

/// Whether and where the responses of a route may be stored on disk.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnDisk {
    /// Whether there is a second tier.
    pub has_disk: bool,
    /// The namespace of the route as configured.
    pub namespace: u64,
}

/// Checks how a route stores.
pub(super) fn cache(
    section: &mut Section<'_, '_>,
    config: CacheConfig,
    on_disk: OnDisk,
) -> CachePlan {
    let wants_disk = config.disk.unwrap_or(false);
    if wants_disk && !on_disk.has_disk {
        let hint = "there is no cache on disk; add `disk = { dir = \"data/cache\" }` to [cache]";
        section.wrong("cache.disk", hint);
    }
    let guesses = [("on", true), ("off", false)];
    let heuristic = config.heuristic;
    let heuristic = heuristic.and_then(|text| section.one_of("cache.heuristic", &text, &guesses));
    let cookies =
        [("store", SetCookie::Store), ("refuse", SetCookie::Refuse), ("strip", SetCookie::Strip)];
    let policy = Policy {
        ttl: section.span_or_zero("cache.ttl", config.ttl),
        stale: section.span_or_zero("cache.stale", config.stale),
        stale_if_error: section.span_or_zero("cache.stale_if_error", config.stale_if_error),
        hold: None,
        heuristic: heuristic.unwrap_or(true),
        set_cookie: section.choice("cache.set_cookie", config.set_cookie, &cookies),
    };
    let choices = [("heed", true), ("ignore", false)];
    let obeys = config.client_directives;
    let obeys = obeys.and_then(|text| section.one_of("cache.client_directives", &text, &choices));
    let body_bytes_max = section.size_above_zero(
        "cache.body_bytes_max",
        config.body_bytes_max,
        STORED_BODY_BYTES_MAX,
    );
    CachePlan {
        policy,
        client_directives: obeys.unwrap_or(policy.ttl.is_none()),
        per_user: config.per_user.unwrap_or(false),
        body_bytes_max,
        forward_tags: config.forward_tags.unwrap_or(false),
        namespace: wants_disk.then_some(on_disk.namespace),
    }
}

/// Returns how a route stores, adjusted to its other settings.
pub(super) fn settled(
    cache: Option<CachePlan>,
    hold: Option<Duration>,
    personalises: bool,
) -> Option<CachePlan> {
    let mut cache = cache.or_else(|| hold.map(|_| bare()))?;
    // On a route that personalises, a cookie may be a user's own, whatever the origin says.
    if personalises && cache.policy.set_cookie == SetCookie::Store {
        cache.policy.set_cookie = SetCookie::Refuse;
    }
    cache.policy.hold = hold;
    Some(cache)
}

/// Returns how a `strict` route without `cache` stores.
fn bare() -> CachePlan {
    CachePlan {
        policy: Policy::default(),
        client_directives: false,
        per_user: false,
        body_bytes_max: STORED_BODY_BYTES_MAX,
        forward_tags: false,
        namespace: None,
    }
}

/// Checks how a route encodes.
pub(super) fn compress(
    section: &mut Section<'_, '_>,
    config: Option<CompressConfig>,
) -> Option<Compression> {
    let usual = Compression::default();
    let rules = match config {
        None => return Some(usual),
        Some(CompressConfig::Switch(text)) => {
            let on = section.one_of("compress", &text, &[("on", true), ("off", false)]);
            return on.unwrap_or(true).then_some(usual);
        }
        Some(CompressConfig::Rules(rules)) => rules,
    };
    let mut codings = Codings::default();
    for name in rules.encodings.iter().flatten() {
        let known = Coding::ALL.map(|coding| (coding.name(), coding));
        codings = match section.one_of("compress.encodings", name, &known) {
            Some(coding) => codings.with(coding),
            None => codings,
        };
    }
    let lower = |name: String| name.to_ascii_lowercase().into();
    Some(Compression {
        types: rules.types.map_or(usual.types, |types| types.into_iter().map(lower).collect()),
        bytes_min: section.size_or_zero("compress.bytes_min", rules.bytes_min, usual.bytes_min),
        codings: if rules.encodings.is_some() { codings } else { usual.codings },
    })
}
