//! Names the known timer whose period is nearest to one that was found: a hint, never evidence.
//!
//! A row is a period in milliseconds and the software that has it by default. One may be added
//! where a manual or a source gives the period; rows ascend, and the nearest by ratio wins.
//! Invariant: a period further than 6 % (of logarithms) from every row gives `None`. No verdict may
//! be decided by this table; `verdict.rs` shows it in `nearest`.
//! Nothing is counted again after a change. `soak/src/lab/arm.rs` expects the name "nginx cache
//! lock", and docs/lab/example-cache-lock.md shows it.

/// A period in milliseconds and who is known to have it.
struct KnownTimer {
    ms: f64,
    of: &'static str,
}

/// Largest difference, as a part of the known period, that is still called near.
const NEAR: f64 = 0.06;

/// From shortest to longest.
const TIMERS: [KnownTimer; 16] = [
    KnownTimer { ms: 1.0, of: "kernel tick at 1000 Hz" },
    KnownTimer { ms: 4.0, of: "kernel tick at 250 Hz" },
    KnownTimer { ms: 5.0, of: "CPython switch interval" },
    KnownTimer { ms: 10.0, of: "kernel tick at 100 Hz" },
    KnownTimer { ms: 15.625, of: "Windows clock tick" },
    KnownTimer { ms: 40.0, of: "TCP delayed acknowledgement" },
    KnownTimer { ms: 100.0, of: "sleep or poll of a tenth of a second, or CFS quota period" },
    KnownTimer {
        ms: 200.0,
        of: "least TCP retransmission timeout (or PostgreSQL's WAL and background writer)",
    },
    KnownTimer { ms: 250.0, of: "poll loop of a quarter of a second" },
    KnownTimer { ms: 500.0, of: "nginx cache lock" },
    KnownTimer {
        ms: 1000.0,
        of: "TCP SYN retry, PostgreSQL deadlock_timeout, or a poll loop of a second",
    },
    KnownTimer { ms: 3000.0, of: "TCP SYN retry of older systems" },
    KnownTimer { ms: 5000.0, of: "DNS timeout, or dirty page writeback" },
    KnownTimer { ms: 10_000.0, of: "connection pool or health check of ten seconds" },
    KnownTimer { ms: 30_000.0, of: "dirty page expiry" },
    KnownTimer { ms: 60_000.0, of: "PostgreSQL autovacuum_naptime, or cron" },
];

/// Returns the known timer whose period is nearest to `period_ms`, when one is within six percent.
pub(super) fn nearest(period_ms: f64) -> Option<String> {
    let off = |timer: &KnownTimer| (period_ms / timer.ms).ln().abs();
    let nearest = TIMERS.iter().min_by(|one, other| off(one).total_cmp(&off(other)))?;
    (off(nearest) <= NEAR).then(|| nearest.of.into())
}
