//! Whole verdicts on samples whose cause is known.

use super::judge;
use crate::bursts::{BURST, apart};
use crate::random::Draw;
use crate::series::{Attribute, AttributeValues, Series};
use crate::verdict::{Quantised, Verdict};

fn series(total_ms: Vec<f64>) -> Series {
    Series { total_ms, ..Series::default() }
}

fn comb(series: &Series) -> Quantised {
    match &judge(series, 1)[..] {
        [Verdict::Quantised(comb)] => comb.clone(),
        other => panic!("{other:?}"),
    }
}

fn reason(total_ms: Vec<f64>) -> String {
    match &judge(&series(total_ms), 1)[..] {
        [Verdict::Unclear(unclear)] => unclear.reason.clone(),
        other => panic!("{other:?}"),
    }
}

/// Calls behind nginx's cache lock: bursts of eight on a cold key, of which one leads.
fn cache_lock(bursts: usize, origin: impl Fn(&mut Draw) -> f64) -> Series {
    cache_lock_every(5_000.0, bursts, origin)
}

/// The same, so many milliseconds from burst to burst on average.
fn cache_lock_every(gap: f64, bursts: usize, origin: impl Fn(&mut Draw) -> f64) -> Series {
    let mut draw = Draw::new(12, 0);
    let mut series = Series::default();
    let mut now = 0.0;
    for _ in 0..bursts {
        now += gap * draw.exponential();
        let answered = origin(&mut draw);
        for call in 0..8 {
            let lag = 4.0 * f64::from(call);
            series.began_ms.push(now + lag);
            series.total_ms.push(match call {
                0 => answered + draw.fraction(),
                _ => ((answered - lag) / 500.0).ceil() * 500.0 + 3.0 * draw.fraction(),
            });
        }
    }
    series
}

#[test]
fn waiters_of_a_cache_lock_are_quantised_and_their_timer_starts_with_the_call() {
    for bursts in [25, 50] {
        let found = comb(&cache_lock(bursts, |draw| 50.0 + 2_150.0 * draw.fraction()));
        assert!((found.quantum_ms / 500.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!(
            found.teeth.len() >= 3 && found.share > 0.6 && found.evidence.p <= 0.005,
            "{found:?}"
        );
        let nearest = found.nearest.unwrap();
        assert!(nearest.starts_with("one of: nginx cache lock ("), "{nearest}");
        assert_ne!(found.phase_locked, Some(true));
    }
}

#[test]
fn the_timer_of_overlapping_bursts_starts_with_the_call() {
    for gap in [80.0, 160.0, 700.0] {
        let mut lock = cache_lock_every(gap, 120, |draw| 50.0 + 2_150.0 * draw.fraction());
        let burst = (0..lock.len()).map(|call| (call / 8) as f64).collect();
        let values = AttributeValues::Numbers(burst);
        lock.attributes.push(Attribute { name: BURST.to_owned(), values });
        let found = comb(&apart(&lock));
        assert!((found.quantum_ms / 500.0 - 1.0).abs() < 0.01, "{gap}: {found:?}");
        assert_eq!(found.phase_locked, Some(false), "{gap}");
    }
}

#[test]
fn waiters_that_share_the_flight_are_not_quantised() {
    let mut draw = Draw::new(13, 0);
    let mut calls = Vec::new();
    for _ in 0..50 {
        let answered = 50.0 + 2_150.0 * draw.fraction();
        calls.extend((0..8).map(|call| answered - 4.0 * f64::from(call) + draw.fraction()));
    }
    let verdicts = judge(&series(calls.into_iter().map(|ms| f64::max(ms, 0.1)).collect()), 1);
    assert!(!matches!(verdicts[0], Verdict::Quantised(_)), "{verdicts:?}");
}

#[test]
fn a_few_slow_calls_on_teeth_are_found_in_the_tail() {
    let mut draw = Draw::new(14, 0);
    let calls = (0..2_000).map(|call| match call % 50 {
        0 => 500.0 * (1 + draw.below(3)) as f64 + 2.0 * draw.fraction(),
        _ => 1.0 + 0.1 * draw.normal().abs(),
    });
    let found = comb(&series(calls.collect()));
    assert!((found.quantum_ms - 500.0).abs() < 3.0, "{found:?}");
    assert!((found.share - 0.02).abs() < 0.002 && found.excess_share > 0.9, "{found:?}");
}

#[test]
fn fast_calls_with_a_tooth_of_their_own_do_not_bend_the_comb_of_the_slow_ones() {
    let mut draw = Draw::new(16, 0);
    let calls = (0..226).map(|call| match call % 10 {
        0..3 => 380.0 + 500.0 * (1 + draw.below(6)) as f64 + 25.0 * draw.normal(),
        _ => 25.0 * (0.4 * draw.normal()).exp(),
    });
    let found = comb(&series(calls.collect()));
    assert!((found.quantum_ms / 500.0 - 1.0).abs() < 0.02, "{found:?}");
    assert_eq!(found.within, "tail");
}

#[test]
fn a_comb_under_a_broad_hump_is_found() {
    let mut draw = Draw::new(17, 0);
    let calls = (0..2_033).map(|call| match call % 10 {
        0 => 500.0 * (1 + draw.below(6)) as f64 + 25.0 * draw.normal(),
        _ => 1_000.0 * (0.5 * draw.normal()).exp(),
    });
    let found = comb(&series(calls.collect()));
    assert!((found.quantum_ms / 500.0 - 1.0).abs() < 0.02, "{found:?}");
}

#[test]
fn a_broad_hump_with_sharp_teeth_behind_it_hides_the_others_from_no_verdict() {
    for set in 0..4 {
        let mut draw = Draw::new(171, set);
        let calls = (0..226).map(|call| match call % 10 {
            0..3 => 500.0 * (1 + draw.below(6)) as f64 + 25.0 * draw.normal(),
            _ => 1_000.0 * (0.5 * draw.normal()).exp(),
        });
        let found = comb(&series(calls.collect()));
        assert!((found.quantum_ms / 500.0 - 1.0).abs() < 0.03, "{set}: {found:?}");
    }
}

#[test]
fn fifty_calls_all_on_teeth_are_quantised_even_when_rounded_or_exact() {
    for jitter in [0.0, 3.0] {
        let mut draw = Draw::new(15, 0);
        let calls = (0..50)
            .map(|_| (250.0 * (1 + draw.below(4)) as f64 + jitter * draw.fraction()).round());
        let found = comb(&series(calls.collect()));
        assert!((found.quantum_ms - 250.0).abs() < 3.0, "{found:?}");
    }
}

#[test]
fn doubling_waits_are_a_geometric_comb() {
    let mut draw = Draw::new(16, 0);
    let calls =
        (0..200).map(|_| 100.0 * 2_f64.powi(draw.below(5) as i32) * (1.0 + 0.02 * draw.fraction()));
    let found = comb(&series(calls.collect()));
    assert_eq!(found.spacing, "geometric");
    assert!(
        (found.quantum_ms / 100.0 - 1.0).abs() < 0.03 && found.offset_ms.abs() < 3.0,
        "{found:?}"
    );
    assert_eq!(found.teeth.iter().map(|tooth| tooth.k).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

#[test]
fn syn_retries_are_a_geometric_comb_of_a_second() {
    let mut draw = Draw::new(17, 0);
    let calls = (0..120)
        .map(|_| 1000.0 * (2_f64.powi(1 + draw.below(4) as i32) - 1.0) + 30.0 * draw.fraction());
    let found = comb(&series(calls.collect()));
    assert_eq!(found.spacing, "geometric");
    assert!((found.quantum_ms / 1000.0 - 1.0).abs() < 0.03, "{found:?}");
    assert_eq!(found.teeth.iter().map(|tooth| tooth.k).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn two_humps_are_humps_and_no_quantum() {
    let mut draw = Draw::new(18, 0);
    let calls = (0..400).map(|call| match call % 4 {
        0 => 41.0 + draw.normal().abs(),
        _ => 1.0 + 0.2 * draw.fraction(),
    });
    let verdicts = judge(&series(calls.collect()), 1);
    let Verdict::Multimodal(humps) = &verdicts[0] else { panic!("{verdicts:?}") };
    assert_eq!(humps.modes.len(), 2, "{humps:?}");
}

#[test]
fn whole_milliseconds_are_a_resolution_and_no_quantum() {
    let mut draw = Draw::new(19, 0);
    let calls = (0..500).map(|_| (8.0 * (0.3 * draw.normal()).exp()).round());
    let verdicts = judge(&series(calls.collect()), 1);
    let Verdict::Unimodal(modality) = &verdicts[0] else { panic!("{verdicts:?}") };
    assert_eq!(modality.resolution_ms, Some(1.0));
}

#[test]
fn a_backlog_that_drains_at_a_fixed_rate_is_no_comb() {
    let mut draw = Draw::new(20, 0);
    let mut calls = Vec::new();
    for _ in 0..12 {
        let pause = 1_000.0 + 3.0 * draw.fraction();
        calls.extend((0..20).map(|late| pause - 50.0 * f64::from(late) + 0.5 * draw.fraction()));
        calls.extend((0..60).map(|_| 2.0 + 0.3 * draw.normal().abs()));
    }
    let began_ms = (0..calls.len()).map(|call| 50.0 * call as f64).collect();
    let verdicts = judge(&Series { began_ms, ..series(calls) }, 1);
    assert!(!matches!(verdicts[0], Verdict::Quantised(_)), "{verdicts:?}");
}

#[test]
fn what_cannot_be_judged_is_said_so() {
    assert_eq!(reason(vec![]), "no calls");
    assert_eq!(reason(vec![5.0]), "1 call; at least 15 are needed");
    assert_eq!(reason(vec![5.0, 6.0, 7.0]), "3 calls; at least 15 are needed");
    assert_eq!(reason(vec![5.0; 40]), "all calls took 5 ms");
    let mut failed = Series::default();
    failed.left_out.failed.insert("status 503".into(), 9);
    let verdicts = judge(&failed, 1);
    let [Verdict::Unclear(unclear)] = &verdicts[..] else { panic!("{verdicts:?}") };
    assert_eq!(unclear.reason, "no call succeeded");
}

#[test]
fn odd_input_never_panics() {
    let rows = [
        vec![f64::NAN; 30],
        vec![0.0; 30],
        [vec![0.0; 20], vec![1e300; 20]].concat(),
        (0..30).map(|call| 10_f64.powi(call * 10 - 150)).collect(),
        [vec![1.0; 100], vec![2.0; 1]].concat(),
        (0..16).map(f64::from).collect(),
        [f64::MAX, f64::INFINITY, -1.0, f64::MIN_POSITIVE].repeat(8),
    ];
    for row in rows {
        assert!(!judge(&series(row), 1).is_empty());
    }
}

#[test]
fn one_seed_gives_one_verdict() {
    let lock = cache_lock(12, |draw| 50.0 + 2_150.0 * draw.fraction());
    assert_eq!(judge(&lock, 3), judge(&lock, 3));
}

#[test]
fn fast_calls_beside_a_comb_do_not_bend_its_quantum() {
    for calls in [1_000, 5_000] {
        let mut draw = Draw::new(20, 0);
        let times = (0..calls).map(|call| match call % 10 {
            0 => 500.0 * (1 + draw.below(4)) as f64 + 3.0 * draw.fraction(),
            _ => 2.0 + (26.0 * draw.exponential()).min(78.0),
        });
        let found = comb(&series(times.collect()));
        assert_eq!(found.spacing, "linear");
        assert!((found.quantum_ms - 500.0).abs() < 1.0 && found.within == "tail", "{found:?}");
        assert!(found.ci_ms[0] <= 500.0 && 500.0 <= found.ci_ms[1], "{found:?}");
        assert_eq!(found.teeth.iter().map(|tooth| tooth.k).collect::<Vec<_>>(), [1, 2, 3, 4]);
    }
}

#[test]
fn fast_calls_that_may_be_on_a_tooth_have_no_say_in_the_quantum() {
    // They stand 5 % of a quantum beside a place of the comb: at none, or at one quantum.
    for offset in [10.0, 80.0] {
        for set in 0..6 {
            let mut draw = Draw::new(29, set);
            let total_ms: Vec<f64> = (0..240)
                .map(|call| match call % 3 {
                    0 => offset + 100.0 * (1 + draw.below(6)) as f64 + 5.0 * draw.normal(),
                    _ => offset + 5.0 * (0.4 * draw.normal()).exp(),
                })
                .collect();
            let found = comb(&series(total_ms));
            let [low, high] = found.ci_ms;
            assert!(low < 100.5 && high > 99.5 && high - low > 0.8, "{set}: {found:?}");
            assert!(found.within == "tail" || offset > 50.0, "{set}: {found:?}");
        }
    }
}

#[test]
fn three_humps_with_holes_between_are_no_comb_and_teeth_of_a_timer_are() {
    let holds = |humps: &[f64]| {
        let at = humps.repeat(20);
        let points = super::teeth::Points { at: &at, calls: &[], width: 0.0, tooth: 5.0 };
        !points.combs(&[50.0]).is_empty()
    };
    assert!(!holds(&[46.0, 246.0, 296.0]) && !holds(&[46.0, 96.0, 196.0]));
    assert!(holds(&[46.0, 96.0, 146.0]) && holds(&[46.0, 96.0, 146.0, 246.0]));
}

#[test]
fn so_many_calls_on_a_tooth_that_neighbours_touch_are_no_backlog() {
    let mut draw = Draw::new(31, 0);
    let mut times = |calls: usize| -> Vec<f64> {
        let microseconds = |draw: &mut Draw| (3_000.0 * draw.fraction()).round() / 1_000.0;
        let wait = |draw: &mut Draw| 500.0 * (1.0 + (4.0 * draw.fraction()).floor());
        (0..calls).map(|_| wait(&mut draw) + microseconds(&mut draw)).collect()
    };
    let found = comb(&series(times(8_000)));
    assert!((found.quantum_ms - 500.0).abs() < 1.0, "{found:?}");
    // More calls only crowd the teeth, which is for `is_backlog` alone to tell.
    let (quantum, origin, jitter) = (500.0, 501.5, 0.87);
    let line = super::fit::CombLine { quantum, origin, jitter, margin: 0.02, is_straight: true };
    assert!(!super::backlog::is_backlog(&times(20_000), &times(20_000), &line, 1e-3));
}
