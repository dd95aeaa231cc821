//! Claims about who is woken; the thread of a test is the writer.

use std::time::Instant;

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// Whether the thread was woken and has not slept since.
fn is_woken() -> bool {
    let began = Instant::now();
    thread::park_timeout(LONG);
    began.elapsed() < LONG
}

#[test]
fn what_is_urgent_is_waited_for_neither_idly_nor_while_lines_gather() {
    for is_line in [false, true] {
        let signal = Signal::default();
        signal.set_writer();
        if is_line {
            signal.appended(true)
        } else {
            signal.wake()
        }
        signal.wait(|| true, LONG);
        assert!(is_woken(), "it did not sleep");
    }
}

#[test]
fn a_line_that_comes_just_after_the_writer_has_looked_wakes_it() {
    let signal = Signal::default();
    signal.set_writer();
    let began = Instant::now();
    let look = || {
        signal.appended(false);
        true
    };
    signal.wait(look, LONG);
    assert!(began.elapsed() < LONG);
}
