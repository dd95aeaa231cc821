//! Configurations of statsd: those of the two servers that are replaced, and our own section. One
//! that is taken can be worked by; one that is not is refused in words, at a line that is there.

use std::time::Duration;

use statsd::Flavour;
use statsd::fuzzing::{legacy, section};
use statsd::plan::Plan;

pub(super) const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    ";",
    "#",
    "//",
    "/*",
    "*/",
    "'",
    "\"",
    "\\",
    "\n",
    "true",
    "null",
    "1e999",
    "-1",
    "0x10",
    "Infinity",
    "NaN",
    "port",
    "flushInterval",
    "servers",
    "server",
    "./servers/tcp",
    "backends",
    "./backends/graphite",
    "repeater",
    "percentThreshold",
    "histogram",
    "bins",
    "keyFlush",
    "interval",
    "gaugesMaxTTL",
    "deleteIdleStats",
    "graphite",
    "legacyNamespace",
    "prefixStats",
    "\"listen\"",
    "\"udp:127.0.0.1:0\"",
    "\"flush\"",
    "\"1s\"",
    "\"idle\"",
    "\"backend\"",
    "\"kind\"",
    "\"prefix_bytes_max\"",
    "\"histogram\"",
];

pub(super) fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for flavour in [Flavour::Statsd, Flavour::Perl] {
        let read = legacy(&text, flavour);
        let behind = legacy(&format!("# a line\n{text}"), flavour);
        match (read, behind) {
            (Ok(plan), Ok(behind)) => {
                assert_eq!(format!("{plan:?}"), format!("{behind:?}"), "a comment means something");
                check(&plan);
            }
            (Err(error), Err(behind)) => {
                assert!(!error.reason.is_empty(), "refused without a word");
                let lines = text.split('\n').count();
                assert!(error.line <= lines, "line {} of {lines}", error.line);
                let moved = error.line + usize::from(error.line > 0);
                assert_eq!(behind.line, moved, "the line of an error does not move with it");
            }
            (one, other) => panic!("behind a comment it is {other:?}, and not {one:?}"),
        }
    }
    match section(&text) {
        Some(Ok(plan)) => check(&plan),
        Some(Err(problems)) => {
            assert!(!problems.is_empty(), "refused without a word");
            assert!(problems.iter().all(|problem| problem.starts_with("statsd.")), "{problems:?}");
        }
        None => {}
    }
}

fn check(plan: &Plan) {
    let year = Duration::from_secs(366 * 86_400);
    assert!(!plan.interval.is_zero() && plan.interval <= year, "{:?}", plan.interval);
    assert!(plan.receivers > 0);
    assert!(plan.percentiles.iter().all(|percent| percent.is_finite()));
    if let Some(keys) = &plan.key_flush {
        assert!(!keys.interval.is_zero() && keys.interval <= year && keys.percent.is_finite());
    }
}
