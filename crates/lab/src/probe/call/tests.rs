//! Claims about stopwatches and failures.

use std::io;
use std::time::Duration;

use super::{CallFailure, Stopwatch};

#[test]
fn laps_of_one_phase_add_up_and_none_is_negative() {
    let mut watch = Stopwatch::start(Duration::from_secs(9));
    for phase in ["connect", "send", "connect"] {
        watch.lap(phase);
    }
    let names: Vec<_> = watch.phases.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["connect", "send"]);
    assert!(watch.phases.iter().all(|(_, ms)| *ms >= 0.0));
}

#[test]
fn no_time_left_is_a_time_out_of_that_step() {
    let watch = Stopwatch::start(Duration::ZERO);
    assert_eq!(watch.left("connect").unwrap_err().words, "timed out (connect)");
}

#[test]
fn refusals_of_the_system_are_told_in_the_same_words_each_time() {
    let words = |error: io::Error| CallFailure::of("connect", &error).words;
    assert_eq!(words(io::ErrorKind::ConnectionRefused.into()), "connection refused");
    assert_eq!(words(io::ErrorKind::WouldBlock.into()), "timed out (connect)");
    assert_eq!(words(io::Error::from_raw_os_error(101)), "connect: network is unreachable");
    assert!(CallFailure::of("send", &io::ErrorKind::BrokenPipe.into()).is_hang_up);
}
