//! Claims about steps, on made handlers of fifteen steps.

use stdx::Random;

use super::*;
use crate::series::PhaseColumn;

/// How the time of a step varies around its usual one.
#[derive(Clone, Copy)]
enum Jitter {
    Uniform,
    Lognormal,
    Exponential,
    /// Uniform, on a clock of whole milliseconds.
    Coarse,
}

/// What slows calls down.
#[derive(Clone, Copy)]
struct Cause {
    /// Stalls of 200 ms a second, wherever they strike.
    stalls_per_second: f64,
    /// Probability that step 7 takes 200 ms longer.
    step_7: f64,
}

const JITTERS: [Jitter; 4] =
    [Jitter::Uniform, Jitter::Lognormal, Jitter::Exponential, Jitter::Coarse];
const NOTHING: Cause = Cause { stalls_per_second: 0.0, step_7: 0.0 };

fn normal(random: &mut Random) -> f64 {
    let (one, two) = (1.0 - random.fraction(), random.fraction());
    (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
}

fn handler(calls: usize, jitter: Jitter, cause: Cause, seed: u64) -> Series {
    let mut random = Random::new(seed);
    let mut phases: Vec<PhaseColumn> =
        (1..=15).map(|step| PhaseColumn { name: format!("step {step}"), ms: Vec::new() }).collect();
    for _ in 0..calls {
        for (at, phase) in phases.iter_mut().enumerate() {
            let usual = [1.0, 4.0, 2.0, 8.0, 3.0][at % 5];
            let mut ms = usual
                * match jitter {
                    Jitter::Uniform | Jitter::Coarse => 0.8 + 0.4 * random.fraction(),
                    Jitter::Lognormal => (0.4 * normal(&mut random)).exp(),
                    Jitter::Exponential => -(1.0 - random.fraction()).ln(),
                };
            let struck = 1.0 - (-cause.stalls_per_second * ms / 1000.0).exp();
            if random.fraction() < struck || at == 6 && random.fraction() < cause.step_7 {
                ms += 200.0;
            }
            phase.ms.push(if matches!(jitter, Jitter::Coarse) { ms.round() } else { ms });
        }
    }
    let total = |row: usize| phases.iter().map(|phase| phase.ms[row]).sum();
    let total_ms = (0..calls).map(total).collect();
    Series { total_ms, phases, ..Series::default() }
}

fn judged_steps(series: &Series) -> Steps {
    steps(series, &Split::new(&series.total_ms, None), 7)
}

fn named(found: &Steps) -> Vec<&str> {
    let name = |verdict: &Verdict| match verdict {
        Verdict::Step(step) => Some(step.step.clone()),
        Verdict::Outside(_) => Some("outside".into()),
        _ => None,
    };
    found.verdicts.iter().filter_map(name).map(|name| &*name.leak()).collect()
}

/// The one thing said where nobody is blamed.
fn excess(found: &Steps) -> &ExcessVerdict {
    let [Verdict::Excess(excess)] = &found.verdicts[..] else { panic!("{found:?}") };
    excess
}

/// Calls of fifteen steps to a server that is stopped for 200 ms now and then. Calls under way
/// stand still where they are, and those that arrive meanwhile wait before the first step.
fn stopped(calls: usize, seed: u64) -> Series {
    let mut series = handler(calls, Jitter::Uniform, NOTHING, seed);
    let mut random = Random::new(seed);
    let mut gap = |mean: f64| -mean * (1.0 - random.fraction()).ln();
    let (mut now, mut stop) = (0.0, gap(2_000.0));
    let mut waits = Vec::new();
    for row in 0..calls {
        now += gap(80.0);
        series.began_ms.push(now);
        while stop + 200.0 < now {
            stop += 200.0 + gap(2_000.0);
        }
        let wait = if stop < now { stop + 200.0 - now } else { 0.0 };
        let mut at = now + wait + 0.1;
        for phase in &mut series.phases {
            at += phase.ms[row];
            if stop >= now && stop < at {
                phase.ms[row] += 200.0;
                (at, stop) = (at + 200.0, stop + 200.0 + gap(2_000.0));
            }
        }
        waits.push(0.1 + wait);
    }
    series.phases.insert(0, PhaseColumn { name: "wait".into(), ms: waits });
    let total = |row: usize| series.phases.iter().map(|phase| phase.ms[row]).sum();
    series.total_ms = (0..calls).map(total).collect();
    series
}

#[test]
fn calls_that_arrive_during_a_stop_do_not_convict_the_step_they_wait_in() {
    for seed in 21..25 {
        let found = judged_steps(&stopped(3000, seed));
        assert_eq!(named(&found), ["outside"], "{seed}");
        let Verdict::Outside(outside) = &found.verdicts[0] else { unreachable!() };
        assert_eq!(outside.admission_step.as_deref(), Some("wait"));
    }
}

#[test]
fn a_wait_longer_than_stops_explain_is_convicted_beside_them() {
    let mut series = stopped(3000, 26);
    for row in (0..3000).step_by(5) {
        series.phases[0].ms[row] += 150.0;
        series.total_ms[row] += 150.0;
    }
    assert_eq!(named(&judged_steps(&series)), ["wait", "outside"]);
}

#[test]
fn stalls_at_random_moments_are_outside_the_request() {
    for jitter in JITTERS {
        let found =
            judged_steps(&handler(2000, jitter, Cause { stalls_per_second: 0.5, ..NOTHING }, 11));
        assert_eq!(named(&found), ["outside"]);
        let Verdict::Outside(outside) = &found.verdicts[0] else { unreachable!() };
        assert!((0.3..0.75).contains(&outside.rate_per_second), "{outside:?}");
    }
}

#[test]
fn a_stall_in_step_7_convicts_step_7_and_no_other() {
    for jitter in JITTERS {
        let found = judged_steps(&handler(2000, jitter, Cause { step_7: 0.02, ..NOTHING }, 12));
        assert_eq!(named(&found), ["step 7"]);
        let Verdict::Step(step) = &found.verdicts[0] else { unreachable!() };
        assert!(step.ci[0] > 1.0 && step.p <= 0.01, "{step:?}");
        assert_eq!(found.shares[0].step, "step 7");
        assert!(found.shares[1..].iter().all(|share| share.excess_ms < 10.0));
    }
}

#[test]
fn stalls_with_one_exception_are_both_said() {
    let cause = Cause { stalls_per_second: 1.0, step_7: 0.05 };
    let found = judged_steps(&handler(3000, Jitter::Uniform, cause, 13));
    assert_eq!(named(&found), ["step 7", "outside"]);
}

#[test]
fn without_slowdowns_nobody_is_blamed() {
    for jitter in JITTERS {
        let found = judged_steps(&handler(1000, jitter, NOTHING, 14));
        assert_eq!(excess(&found).reason, "no step took far longer than it usually does");
        assert_eq!(excess(&found).calls_needed, None);
    }
}

#[test]
fn fifty_calls_with_three_stalls_blame_nobody() {
    let mut series = handler(50, Jitter::Uniform, NOTHING, 15);
    for (row, step) in [(3, 1), (17, 8), (40, 3)] {
        series.phases[step].ms[row] += 200.0;
        series.total_ms[row] += 200.0;
    }
    let found = judged_steps(&series);
    // Eight are seen nine times out of ten where 11.77 are expected: 50 / 3 * 11.77 calls.
    assert_eq!(
        excess(&found).reason,
        "3 slow-downs are too few to blame a step; 8 are needed, and 200 calls have them nine \
         times out of ten"
    );
    assert_eq!(excess(&found).calls_needed, Some(200));
}

#[test]
fn a_step_with_most_of_the_time_is_told_how_many_calls_convict_it() {
    // Eight slow-downs are enough where a step has little of the time, not where it has 73 %.
    let usual = [8.0, 70.0, 3.0, 15.0];
    let of = |calls: usize| {
        let phases = usual.iter().enumerate().map(|(at, ms)| PhaseColumn {
            name: format!("step {}", at + 1),
            ms: (0..calls)
                .map(|row| ms + if at == 1 && row % 50 == 7 { 300.0 } else { (row % 3) as f64 })
                .collect(),
        });
        let phases: Vec<PhaseColumn> = phases.collect();
        let total_ms = (0..calls).map(|row| phases.iter().map(|phase| phase.ms[row]).sum());
        judged_steps(&Series { total_ms: total_ms.collect(), phases, ..Series::default() })
    };
    let few = of(300);
    let needed = excess(&few).calls_needed.unwrap();
    assert!(excess(&few).reason.contains("6 slow-downs are too few"), "{:?}", few.verdicts);
    assert!(needed > 1_000, "{needed}");
    assert_eq!(named(&of(needed as usize)), ["step 2"]);
}

#[test]
fn one_long_step_cannot_be_told_from_outside() {
    let mut series = handler(1000, Jitter::Uniform, NOTHING, 16);
    series.phases.truncate(2);
    series.phases[0].ms.iter_mut().for_each(|ms| *ms += 500.0);
    (0..30).for_each(|row| series.phases[0].ms[row * 30] += 2000.0);
    series.total_ms =
        (0..1000).map(|row| series.phases.iter().map(|phase| phase.ms[row]).sum()).collect();
    let found = judged_steps(&series);
    let verdict = excess(&found);
    assert!(verdict.reason.contains("`step 1` takes 99 %"), "{verdict:?}");
    assert!(verdict.step == "step 1" && verdict.ci[0] > 0.99, "{verdict:?}");
    let sum: f64 = verdict.shares.iter().map(|share| share.excess_ms).sum();
    assert!((sum - verdict.whole_ms).abs() < 1e-9 * sum, "{sum} {}", verdict.whole_ms);
}

#[test]
fn excesses_add_up_to_the_whole_and_time_without_a_step_is_untracked() {
    let mut series = handler(400, Jitter::Exponential, NOTHING, 17);
    series.total_ms.iter_mut().enumerate().for_each(|(row, ms)| *ms += (row % 7) as f64);
    let split = Split::new(&series.total_ms, None);
    let found = steps(&series, &split, 7);
    assert!(found.shares.iter().any(|share| share.step == UNTRACKED));
    let mean = |rows: &[u32]| {
        rows.iter().map(|row| series.total_ms[*row as usize]).sum::<f64>() / rows.len() as f64
    };
    let whole = mean(&split.slow) - mean(&split.typical);
    let sum: f64 = found.shares.iter().map(|share| share.excess_ms).sum();
    assert!((sum - whole).abs() < 1e-9 * whole, "{sum} {whole}");
    for share in &found.shares {
        assert!(share.ci_ms[0] <= share.excess_ms && share.excess_ms <= share.ci_ms[1]);
    }
}

#[test]
fn steps_of_equal_and_of_no_calls_are_no_trouble() {
    let phases = vec![PhaseColumn { name: "a".into(), ms: vec![1.0; 3] }];
    let series = Series { total_ms: vec![1.0; 3], phases, ..Series::default() };
    let found = judged_steps(&series);
    assert_eq!((found.verdicts.len(), found.shares[0].excess_ms), (0, 0.0));
    assert_eq!(judged_steps(&Series::default()), Steps::default());
}

/// Sets of which a fault-free one may convict a step: the nominal rate is 1 %.
const SETS: u64 = 100;

#[test]
fn external_stalls_rarely_convict_a_step() {
    let mut alarms = 0;
    for jitter in JITTERS {
        for seed in 0..SETS {
            let cause = Cause { stalls_per_second: 1.0, ..NOTHING };
            let found = judged_steps(&handler(300, jitter, cause, 1000 + seed));
            alarms += usize::from(named(&found).iter().any(|name| name.starts_with("step")));
        }
    }
    // At most 4 expected of 400; 12 or more would come once in a thousand times.
    assert!(alarms < 12, "{alarms} false alarms");
}
