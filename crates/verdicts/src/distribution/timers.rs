//! Names the known timers of a period that was found, each with how to tell it: hints, never
//! evidence.
//!
//! A row is a period in milliseconds, the software that has it by default, and what shows that it
//! is this one. One may be added where a manual or a source gives the period. Invariant: a period
//! further than 6 % (of logarithms) from every row gives `None`. No verdict may be decided by this
//! table; `verdict.rs` shows it in `nearest`. Nothing is counted again after a change.
//! `soak/src/lab/arm.rs` expects the name "nginx cache lock", and docs/lab/example-cache-lock.md
//! shows it.

/// A period in milliseconds, who is known to have it, and how to tell.
struct KnownTimer {
    ms: f64,
    of: &'static str,
    /// Empty where nothing simple tells.
    tell: &'static str,
}

/// Largest difference, as a part of the known period, that is still called near.
const NEAR: f64 = 0.06;

const fn timer(ms: f64, of: &'static str, tell: &'static str) -> KnownTimer {
    KnownTimer { ms, of, tell }
}

/// From shortest to longest.
// tidy: table
const TIMERS: [KnownTimer; 26] = [
    timer(1.0, "kernel tick at 1000 Hz", ""),
    timer(4.0, "kernel tick at 250 Hz", ""),
    timer(5.0, "CPython switch interval", "gone with one thread"),
    timer(10.0, "kernel tick at 100 Hz", ""),
    timer(15.625, "Windows clock tick", ""),
    timer(40.0, "TCP delayed acknowledgement", "gone with TCP_NODELAY, counted in DelayedACKs"),
    timer(100.0, "sleep or poll of a tenth of a second", ""),
    timer(100.0, "CFS quota period", "in step with a clock, counted in nr_throttled"),
    timer(200.0, "least TCP retransmission timeout", "doubles, counted in TCPTimeouts"),
    timer(200.0, "PostgreSQL's WAL and background writer", ""),
    timer(250.0, "poll loop of a quarter of a second", ""),
    timer(
        500.0,
        "nginx cache lock",
        "only callers of one cold key wait; off with proxy_cache_lock",
    ),
    timer(500.0, "poll or retry of half a second", "a sleep of that length in strace"),
    timer(1000.0, "TCP SYN retry", "1, 3, 7 s, in the step connect"),
    timer(1000.0, "PostgreSQL deadlock_timeout", "a log line with log_lock_waits"),
    timer(1000.0, "poll or retry of a second", "a sleep of that length in strace"),
    timer(3000.0, "TCP SYN retry of older systems", "in the step connect"),
    timer(5000.0, "DNS timeout", "in the step resolve"),
    timer(5000.0, "dirty page writeback", "in step with a clock"),
    timer(5000.0, "nginx cache lock timeout", "only callers of one cold key wait"),
    timer(10_000.0, "connection pool or health check of ten seconds", ""),
    timer(30_000.0, "dirty page expiry", "in step with a clock"),
    timer(30_000.0, "pool or proxy timeout of half a minute", ""),
    timer(60_000.0, "PostgreSQL autovacuum_naptime", "in step with a clock"),
    timer(60_000.0, "cron", "in step with the minute"),
    timer(60_000.0, "proxy timeout of a minute", ""),
];

/// Returns the known timers whose period is nearest to `period_ms`, when one is within six percent:
/// several as `one of`, with how to tell.
pub(super) fn nearest(period_ms: f64) -> Option<String> {
    let off = |timer: &KnownTimer| (period_ms / timer.ms).ln().abs();
    let nearest = TIMERS.iter().min_by(|one, other| off(one).total_cmp(&off(other)))?;
    let named =
        TIMERS.iter().filter(|timer| timer.ms == nearest.ms).map(|timer| match timer.tell {
            "" => timer.of.to_owned(),
            tell => format!("{} ({tell})", timer.of),
        });
    let named: Vec<String> = named.collect();
    let one_of = if named.len() > 1 { "one of: " } else { "" };
    (off(nearest) <= NEAR).then(|| format!("{one_of}{}", named.join("; ")))
}
