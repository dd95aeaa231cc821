//! The document whose keys are a promise.

use serde_json::json;

use super::{BackendStatus, ConnectionCounts, DatedInstant, ServerStatus, SocketStatus};
use crate::budget::Usage;
use crate::flavour::Flavour;
use crate::line::BadReason;
use crate::table::Totals;

#[test]
fn every_figure_has_its_key() {
    let backend = BackendStatus {
        last_flush: DatedInstant { unix_s: 1, ..DatedInstant::now() },
        flush_time_ms: 2,
        flush_length: 3,
        delivered: 4,
        lost: 5,
        spooled_bytes: 6,
        foreign_files: 7,
        last_error: Some("away".to_owned()),
        ..BackendStatus::started()
    };
    let socket =
        SocketStatus { address: "udp:a".to_owned(), buffer_bytes: 8, dropped_by_kernel: 9 };
    let status = ServerStatus {
        totals: Totals {
            packets: 10,
            bytes: 11,
            lines: 12,
            bad: [13, 14, 15, 16, 17, 18, 19],
            last_bad: Some((BadReason::Rate, b"a:1|c|@x".as_slice().into())),
            notices_dropped: 20,
            values_summarised: 21,
            members_summarised: 22,
        },
        sockets: vec![socket],
        connections: ConnectionCounts { open: 23, displaced: 24, endless: 25 },
        management_displaced: 26,
        repeated_dropped: 27,
        repeated_failed: 28,
        names: vec![Usage { prefix: "app.".to_owned(), used: 29, bytes_max: 30 }],
        overflowed: 31,
        backends: vec![("graphite".to_owned(), backend)],
    };
    let wanted = json!({
        "packets": 10, "bytes": 11, "lines": 12,
        "bad_lines": { "key": 13, "no_type": 14, "type": 15, "value": 16, "rate": 17,
                       "control": 18, "notice": 19 },
        "last_bad_line": { "reason": "rate", "line": "a:1|c|@x" },
        "notices_dropped": 20, "values_summarised": 21, "members_summarised": 22,
        "names": [{ "prefix": "app.", "bytes": 29, "bytes_max": 30 }],
        "overflowed": 31,
        "sockets": [{ "address": "udp:a", "buffer_bytes": 8, "dropped_by_kernel": 9 }],
        "connections": 23, "connections_displaced": 24, "connections_endless": 25,
        "management_displaced": 26, "repeated_dropped": 27, "repeated_failed": 28,
        "backends": [{ "name": "graphite", "last_flush_unix_s": 1, "last_flush_ms": 2,
                       "last_flush_bytes": 3, "delivered": 4, "lost": 5, "spooled_bytes": 6,
                       "foreign_files": 7, "last_error": "away" }],
    });
    assert_eq!(status.to_json(), wanted);
}

#[test]
fn a_backend_that_never_failed_did_so_at_its_start_but_in_perl_never() {
    let status = BackendStatus::started();
    let shown =
        |status: &BackendStatus, flavour| status.shown_exception(flavour).map(|at| at.unix_s);
    let started = Some(status.started.unix_s);
    assert_eq!(shown(&status, Flavour::Native), started);
    assert_eq!(shown(&status, Flavour::Statsd), started);
    assert_eq!(shown(&status, Flavour::Perl), None);
    let failed = DatedInstant { unix_s: 7, ..DatedInstant::now() };
    let status = BackendStatus { last_exception: Some(failed), ..status };
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        assert_eq!(shown(&status, flavour), Some(7));
    }
}

#[test]
fn an_age_is_told_by_the_clock_that_nobody_sets() {
    let now = DatedInstant::now();
    let unix_s = stdx::unix_micros() / 1_000_000;
    assert!(now.unix_s <= unix_s && now.unix_s + 3_600 > unix_s, "{}", now.unix_s);
    let before = now.at.checked_sub(std::time::Duration::from_millis(7_200_900));
    let before = DatedInstant { at: before.expect("it ran for longer"), ..now };
    assert!((7_200..7_300).contains(&before.age_s()), "{}", before.age_s());
}
