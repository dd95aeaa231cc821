//! Claims about the memory that windows share.

use std::sync::Arc;

use stdx::Random;

use super::{BudgetUse, WindowBudget};

#[test]
fn one_pipeline_alone_has_all_of_the_budget_and_as_much_again_under_way() {
    let mut only = BudgetUse::new(WindowBudget::new(1000, 1));
    for _ in 0..3 {
        only.window(1000);
        assert!(!only.is_full());
        only.window(1001);
        assert!(only.is_full());
        only.hand_over();
        only.window(1000);
        assert!(!only.is_full());
        only.window(1001);
        assert!(only.is_full(), "it waits for its batch");
        only.retire();
    }
}

#[test]
fn one_pipeline_among_idle_ones_has_all_of_the_budget() {
    let budget = WindowBudget::new(1000, 200);
    let _idle: Vec<_> = (0..199).map(|_| BudgetUse::new(Arc::clone(&budget))).collect();
    let mut busy = BudgetUse::new(budget);
    busy.window(1000);
    assert!(!busy.is_full());
    busy.window(1001);
    assert!(busy.is_full());
}

#[test]
fn a_pipeline_that_cannot_deliver_starves_no_other() {
    let budget = WindowBudget::new(1000, 4);
    let mut stuck = BudgetUse::new(Arc::clone(&budget));
    stuck.window(1000);
    stuck.hand_over();
    stuck.window(1001);
    assert!(stuck.is_full());
    let mut other = BudgetUse::new(budget);
    for _ in 0..3 {
        other.window(250);
        assert!(!other.is_full(), "it has its share");
        other.window(251);
        assert!(other.is_full());
        other.hand_over();
        assert!(other.is_full(), "the budget is used up, so it waits for its batch");
        other.retire();
        assert!(!other.is_full());
    }
}

#[test]
fn windows_keep_memory_only_while_no_other_needs_it() {
    let budget = WindowBudget::new(1000, 2);
    let mut one = BudgetUse::new(Arc::clone(&budget));
    one.window(1000);
    one.hand_over();
    one.window(1000);
    assert_eq!(one.kept_bytes_max(), 1000, "its own is not counted");
    let mut other = BudgetUse::new(budget);
    assert_eq!(other.kept_bytes_max(), 0);
    other.window(1000);
    one.retire();
    assert_eq!((one.kept_bytes_max(), other.kept_bytes_max()), (1000, 1000));
}

#[test]
fn what_a_pipeline_took_is_there_again_when_it_is_gone() {
    let budget = WindowBudget::new(1000, 2);
    let mut one = BudgetUse::new(Arc::clone(&budget));
    one.window(600);
    one.hand_over();
    one.window(300);
    one.window(200);
    assert_eq!(budget.used(), 800);
    drop(one);
    assert_eq!(budget.used(), 0);
}

/// The rules of `run`: what is full delivers, and reads nothing while its batch is on its way.
fn read(pipeline: &mut BudgetUse, bytes: usize) {
    if pipeline.is_full() && pipeline.batch > 0 {
        return;
    }
    pipeline.window(pipeline.window + bytes);
    if pipeline.is_full() && pipeline.batch == 0 {
        pipeline.hand_over();
    }
}

#[test]
fn all_pipelines_together_stay_within_the_bound_whatever_becomes_of_their_batches() {
    const MAX: usize = 100_000;
    const CHUNK: usize = 500;
    for seed in 0..50 {
        let mut random = Random::new(seed);
        let count = 1 + random.up_to(40) as usize;
        let budget = WindowBudget::new(MAX, count);
        let mut all: Vec<_> = (0..count).map(|_| BudgetUse::new(Arc::clone(&budget))).collect();
        // Batches of these never arrive.
        let stuck = random.up_to(count as u64) as usize;
        let mut most = 0;
        for _ in 0..20_000 {
            let at = random.up_to(count as u64 - 1) as usize;
            match random.up_to(20) {
                0 if at >= stuck => all[at].retire(),
                1 if all[at].batch == 0 => all[at].hand_over(),
                _ => read(&mut all[at], random.up_to(CHUNK as u64) as usize),
            }
            let used = all.iter().map(|one| one.window + one.batch).sum::<usize>();
            assert_eq!(used, budget.used());
            most = most.max(used);
        }
        // The budget, batches as much again, and of each its share and two chunks.
        let bound = 3 * MAX + (count + 1) * 2 * CHUNK;
        assert!(most <= bound, "seed {seed}: {most} of {bound}");
        if stuck == count {
            assert!(most > MAX, "seed {seed}: the budget is used");
        }
    }
}
