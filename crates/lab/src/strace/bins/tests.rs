//! Claims about bins.

use super::*;

#[test]
fn quantiles_are_within_three_percent_over_ten_orders_of_magnitude() {
    let mut ns = 1_u64;
    while ns < 10_000_000_000 {
        let mut bins = LatencyBins::default();
        bins.add(ns);
        let found = bins.quantile_ms(0.5).unwrap() * 1e6;
        assert!((found / ns as f64 - 1.0).abs() < 0.03, "{ns} is {found}");
        ns = ns * 7 / 5 + 1;
    }
    assert_eq!(LatencyBins::default().quantile_ms(0.5), None);
}

#[test]
fn peaks_are_found_on_a_broad_floor_and_a_floor_has_none() {
    let mut random = stdx::Random::new(7);
    let mut bins = LatencyBins::default();
    for _ in 0..20_000 {
        bins.add((1000.0 * 10_f64.powf(random.fraction() * 6.0)) as u64);
    }
    assert_eq!(bins.peaks(), [], "a floor");
    for ms in [250_u64, 500, 1000] {
        for _ in 0..600 {
            bins.add(ms * 1_000_000 + 50_000 + random.up_to(200_000));
        }
    }
    let mut found: Vec<f64> = bins.peaks().iter().map(|peak| peak.ms.round()).collect();
    found.sort_by(f64::total_cmp);
    assert_eq!(found.len(), 3, "{found:?}");
    for (ms, wanted) in found.iter().zip([250.0, 500.0, 1000.0]) {
        assert!((ms / wanted - 1.0).abs() < 0.03, "{found:?}");
    }
}
