//! Claims about rollouts.

use std::time::{Duration, Instant};

use exchange::Decision;

use super::Rollout;
use crate::plan::{DrawMode, GuardPlan, RolloutPlan};

fn planned(salt: &str, mode: DrawMode, rollout: f64, hold_out: f64) -> RolloutPlan {
    RolloutPlan { salt: salt.into(), mode, rollout, hold_out, guard: None }
}

fn rollout(salt: &str, mode: DrawMode, rollout: f64, hold_out: f64) -> Rollout {
    Rollout::new(&planned(salt, mode, rollout, hold_out))
}

/// A rollout of everyone, whose guard allows a tenth of the responses to fail or be late.
fn guarded(salt: &str, latency: Duration) -> Rollout {
    let guard = Some(GuardPlan { latency, errors: 0.1 });
    Rollout::new(&RolloutPlan { guard, ..planned(salt, DrawMode::Sticky, 1.0, 0.0) })
}

fn let_in(rollout: &Rollout, users: u32) -> Vec<u32> {
    let inside =
        |n: &u32| rollout.decide(format!("user-{n}").as_bytes()).decision == Decision::Personalised;
    (0..users).filter(inside).collect()
}

#[test]
fn raising_the_share_keeps_everybody_who_was_in() {
    let rollout = rollout("2026-11", DrawMode::Sticky, 0.05, 0.01);
    let before = let_in(&rollout, 20_000);
    assert!((800..1200).contains(&before.len()), "{}", before.len());
    rollout.set_rollout(0.3);
    let after = let_in(&rollout, 20_000);
    assert!(before.iter().all(|user| after.contains(user)));
    assert!((5_600..6_400).contains(&after.len()), "{}", after.len());
}

#[test]
fn the_held_out_stay_out_at_full_rollout() {
    let rollout = rollout("s", DrawMode::Sticky, 1.0, 0.1);
    let held: Vec<u32> = (0..10_000)
        .filter(|n: &u32| rollout.decide(&n.to_le_bytes()).decision == Decision::HeldOut)
        .collect();
    assert!((850..1150).contains(&held.len()), "{}", held.len());
    rollout.set_rollout(0.0);
    assert!(held.iter().all(|n| rollout.decide(&n.to_le_bytes()).decision == Decision::HeldOut));
}

#[test]
fn another_salt_draws_other_users() {
    let one = let_in(&rollout("a", DrawMode::Sticky, 0.1, 0.0), 10_000);
    let other = let_in(&rollout("b", DrawMode::Sticky, 0.1, 0.0), 10_000);
    let both = one.iter().filter(|user| other.contains(user)).count();
    assert!((50..160).contains(&both), "{both}");
}

#[test]
fn the_kill_switch_sends_everybody_to_the_generic_answer() {
    let rollout = rollout("a", DrawMode::Sticky, 1.0, 0.0);
    rollout.set_killed(true);
    assert_eq!(rollout.decide(b"u").decision, Decision::Fallback);
    rollout.set_killed(false);
    assert_eq!(rollout.decide(b"u").decision, Decision::Personalised);
}

#[test]
fn dice_draw_the_same_user_both_ways() {
    let rollout = rollout("a", DrawMode::Dice, 0.5, 0.0);
    let inside =
        (0..1000).filter(|_| rollout.decide(b"u").decision == Decision::Personalised).count();
    assert!((400..600).contains(&inside), "{inside}");
}

#[test]
fn without_enough_answers_the_guard_does_not_judge() {
    let rollout = guarded("a", Duration::from_millis(1));
    (0..10).for_each(|_| rollout.note(Duration::from_secs(1), true));
    assert_eq!(rollout.shares().guard, 1.0);
}

#[test]
fn the_guard_halves_the_share_under_failures_and_gives_it_back() {
    let rollout = guarded("s", Duration::from_secs(1));
    let begun = Instant::now();
    let mut interval = 0;
    let mut judge = |failed: bool| {
        interval += 2;
        let now = begun + Duration::from_secs(interval);
        (0..20).for_each(|_| rollout.note_at(now, Duration::ZERO, failed));
        rollout.shares().guard
    };
    assert_eq!(judge(true), 0.5);
    assert_eq!(judge(true), 0.25);
    for _ in 0..10 {
        judge(true);
    }
    assert_eq!(judge(true), 0.01, "never none, or nobody would tell that it is well again");
    let decisions: Vec<Decision> =
        (0..1000u32).map(|n| rollout.decide(&n.to_le_bytes()).decision).collect();
    let own = decisions.iter().filter(|d| **d == Decision::Personalised).count();
    assert!((1..40).contains(&own), "{own}");
    assert!(decisions.iter().all(|d| matches!(d, Decision::Personalised | Decision::Fallback)));
    let recovered: Vec<f64> = (0..10).map(|_| judge(false)).collect();
    assert!(recovered.windows(2).all(|pair| pair[0] < pair[1] || pair[1] == 1.0));
    assert_eq!(recovered[9], 1.0);
}

#[test]
fn slow_answers_count_against_the_guards_budget() {
    let rollout = guarded("s", Duration::from_secs(1));
    let later = Instant::now() + Duration::from_secs(2);
    (0..3).for_each(|_| rollout.note(Duration::from_millis(1001), false));
    (0..17).for_each(|_| rollout.note_at(later, Duration::from_millis(1000), false));
    assert_eq!(rollout.shares().guard, 0.5);
}
