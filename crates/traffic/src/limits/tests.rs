//! Claims about `limits`.

use super::{Gauge, Rate, WatchCounts};

#[test]
fn a_rate_is_read_as_varnishlog_reads_it() {
    let rate = |text: &str| text.parse::<Rate>().unwrap();
    assert_eq!(rate("10"), Rate { shown_max: 10, span_us: 1_000_000 });
    assert_eq!(rate("10/s"), rate("10"));
    assert_eq!(rate("100/5m"), Rate { shown_max: 100, span_us: 300_000_000 });
    for wrong in ["", "0", "x/s", "3/", "3/0s"] {
        assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
    }
}

#[test]
fn a_rate_lets_so_many_through_in_each_span() {
    let mut gauge = Gauge::new("2/s".parse().unwrap());
    let admitted = |gauge: &mut Gauge, at| gauge.admits(at);
    let seconds = [5_000_000, 5_100_000, 5_200_000, 6_000_000, 6_000_001, 6_500_000];
    let shown: Vec<bool> = seconds.iter().map(|at| admitted(&mut gauge, *at)).collect();
    assert_eq!(shown, [true, true, false, true, true, false]);
}

#[test]
fn what_was_lost_is_said_by_its_reason() {
    assert_eq!(WatchCounts::default().to_string(), "");
    let counts = WatchCounts { unread: 2, timed_out: 1, ..WatchCounts::default() };
    assert_eq!(counts.to_string(), "2 not of the format, 1 given up at -T");
}
