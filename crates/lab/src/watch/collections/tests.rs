//! Lines of collectors, and logs that are written, replaced and cut.

use std::fs;
use std::io::Write as _;

use super::super::counters::{SignalReadings, SignalSource as _};
use super::{CollectorLog, pause_ms};

#[test]
fn pauses_are_read_from_the_jvm_and_from_go() {
    let cases = [
        ("[0.052s][info][gc] GC(0) Pause Young (Normal) 23M->2M(256M) 3.456ms", Some(3.456)),
        ("[0.1s][info][gc] GC(1) Concurrent Mark Cycle 12.3ms", None),
        ("2026-01-01T00:00:00: 1.2: [GC (Allocation Failure) 3K->2K(9K), 0.0125 secs]", Some(12.5)),
        (
            "gc 7 @1.2s 3%: 0.02+1.3+0.05 ms clock, 0.1+0.2/1.0/0.3+0.2 ms cpu, 4->4->1 MB",
            Some(0.07),
        ),
        ("started", None),
        ("Pause ms", None),
    ];
    for (line, expected) in cases {
        let found = pause_ms(line);
        let is_same = match (found, expected) {
            (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
            (found, expected) => found == expected,
        };
        assert!(is_same, "{line}: {found:?}");
    }
}

#[test]
fn a_log_is_followed_from_its_end_and_begins_again_when_it_is_cut_or_replaced() {
    let dir = testkit::TempDir::new().expect("a directory");
    let path = dir.path().join("gc.log");
    let line = |ms: &str| format!("GC(0) Pause Young {ms}ms\n");
    fs::write(&path, line("1000")).expect("written");
    let mut log = CollectorLog::open(&path).expect("it is there");
    let mut counters = SignalReadings::default();
    let mut sum = || {
        counters.begin(1_000_000_000);
        // A file that is found replaced is read in the round after.
        log.sample(&mut counters);
        log.sample(&mut counters);
        let mut sum = 0.0;
        counters.grown(&mut |it| sum += it.amount);
        sum
    };
    assert_eq!(sum(), 0.0);
    let mut file = fs::OpenOptions::new().append(true).open(&path).expect("opened");
    write!(file, "{}GC(1) Pau", line("2")).expect("written");
    assert_eq!(sum(), 2.0);
    writeln!(file, "se Young 3ms").expect("written");
    assert_eq!(sum(), 3.0);
    fs::write(&path, line("4")).expect("cut");
    assert_eq!(sum(), 4.0);
    fs::rename(&path, dir.path().join("gc.log.1")).expect("moved");
    fs::write(&path, line("5")).expect("written");
    assert_eq!(sum(), 5.0);
}
