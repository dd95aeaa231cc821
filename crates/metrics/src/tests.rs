//! Claims about timers and the exposition.

use std::time::Duration;

use crate::{Reading, Registry, Timer};

#[test]
fn quantiles_are_within_a_sixteenth_of_the_truth() {
    let timer = Timer::default();
    (1..=10_000u64).for_each(|us| timer.record(Duration::from_micros(us)));
    let snapshot = timer.snapshot();
    for (q, truth_us) in [(0.5, 5_000.0), (0.9, 9_000.0), (0.99, 9_900.0)] {
        let got = snapshot.quantile(q).as_nanos() as f64 / 1e3;
        assert!((got - truth_us).abs() <= truth_us / 16.0, "{q}: {got} against {truth_us}");
    }
    assert_eq!(snapshot.count(), 10_000);
}

#[test]
fn every_duration_lands_in_a_bucket() {
    let timer = Timer::default();
    for shift in 0..64 {
        timer.record_ns(1 << shift);
        timer.record_ns((1u64 << shift).wrapping_sub(1));
    }
    assert_eq!(timer.snapshot().count(), 128);
}

#[test]
fn the_same_name_and_labels_share_one_cell() {
    let registry = Registry::default();
    registry.counter("hits_total", "Hits.", &[("route", "a")]).add(2);
    registry.counter("hits_total", "Hits.", &[("route", "a")]).add(3);
    registry.counter("hits_total", "Hits.", &[("route", "b")]).add(10);
    assert_eq!(registry.sum("hits_total", &[]), 15);
    assert_eq!(registry.sum("hits_total", &[("route", "a")]), 5);
}

#[test]
fn exposition_escapes_label_values_and_ends_histograms_with_infinity() {
    let registry = Registry::default();
    registry.counter("c_total", "C.", &[("path", "a\"b\\c\nd")]).add(1);
    registry.timer("t_seconds", "T.", &[]).record(Duration::from_millis(3));
    let text = registry.prometheus();
    assert!(text.contains(r#"c_total{path="a\"b\\c\nd"} 1"#), "{text}");
    assert!(text.contains("t_seconds_bucket{le=\"+Inf\"} 1"), "{text}");
    assert!(text.contains("t_seconds_bucket{le=\"0.0025\"} 0"), "{text}");
    assert!(text.contains("t_seconds_bucket{le=\"0.005\"} 1"), "{text}");
}

#[test]
fn gauges_are_refreshed_before_anybody_reads() {
    let registry = Registry::default();
    registry.before_reading(|registry| registry.gauge("size", "Size.", &[]).add(1));
    assert!(registry.prometheus().contains("size 1"));
    assert_eq!(registry.read()[0].reading, Reading::Gauge(2));
}
