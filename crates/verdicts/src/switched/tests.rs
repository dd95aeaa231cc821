//! Claims about experiments with a switch.

use super::*;

/// Pairs of blocks of twenty calls, in which chance is a table: off, then on, or turned.
fn blocks(pairs: usize, on: impl Fn(usize, f64) -> f64) -> Vec<SwitchBlock> {
    let calls = |pair: usize, is_on: bool| {
        let drift = 10.0 + 3.0 * pair as f64;
        let calls = (0..20).map(|call| drift + f64::from(call) * 0.1 + f64::from(is_on) * 0.01);
        calls.map(|ms| if is_on { on(pair, ms) } else { ms }).collect::<Vec<f64>>()
    };
    let block = |at: usize| {
        let is_on = (at % 2 == 1) != ((at / 2).is_multiple_of(3));
        SwitchBlock { is_on, total_ms: calls(at / 2, is_on), failed: 0 }
    };
    (0..2 * pairs).map(block).collect()
}

#[test]
fn an_effect_is_seen_through_a_drift_that_is_larger() {
    let found = switched(&blocks(8, |_, ms| ms + 2.0), None, 1).verdict;
    assert!(found.is_effect && found.p == 2.0 / 256.0, "{found:?}");
    let median = &found.effects[0];
    assert_eq!(median.figure, "median_ms");
    assert!((median.effect - 2.01).abs() < 1e-9, "{median:?}");
    let [low, high] = median.ci.unwrap();
    assert!(low <= median.effect && median.effect <= high, "{median:?}");
    assert_eq!(
        found.slow_over_ms,
        Split::new(&all(&blocks(8, |_, ms| ms + 2.0)), None).slow_over_ms
    );
}

fn all(blocks: &[SwitchBlock]) -> Vec<f64> {
    blocks.iter().flat_map(|block| block.total_ms.clone()).collect()
}

#[test]
fn too_few_blocks_conclude_nothing_however_large_the_effect() {
    let found = switched(&blocks(7, |_, ms| ms * 100.0), None, 1).verdict;
    assert_eq!((found.blocks, found.blocks_needed, found.is_effect), (14, 16, false));
    assert_eq!((found.p, found.p_least), (2.0 / 128.0, 2.0 / 128.0));
    assert_eq!(blocks_needed(), 16);
    assert_eq!([p_least(0), p_least(1), p_least(40)], [1.0, 1.0, 1e-4]);
}

#[test]
fn signs_of_chance_convict_no_switch() {
    let found =
        switched(&blocks(10, |pair, ms| if pair % 2 == 0 { ms + 2.0 } else { ms - 2.0 }), None, 1);
    assert!(!found.verdict.is_effect && found.verdict.p > 0.2, "{found:?}");
}

#[test]
fn calls_that_fail_are_slow_and_need_no_times() {
    let mut blocks = blocks(8, |_, ms| ms);
    for block in blocks.iter_mut().filter(|block| block.is_on) {
        block.failed = block.total_ms.len() as u64;
        block.total_ms.clear();
    }
    let found = switched(&blocks, Some(1e6), 1);
    let names: Vec<&str> =
        found.verdict.effects.iter().map(|effect| effect.figure.as_str()).collect();
    assert_eq!((names, found.verdict.is_effect), (vec!["slow_share"], true));
    let share = &found.verdict.effects[0];
    assert_eq!((share.off, share.on, share.effect), (0.0, 1.0, 1.0));
    let on = blocks.iter().position(|block| block.is_on).unwrap();
    assert_eq!(found.figures[on].median_ms, None);
}

#[test]
fn a_block_without_calls_and_one_without_partner_are_left_out() {
    let mut blocks = blocks(9, |_, ms| ms + 2.0);
    blocks[4].total_ms.clear();
    blocks.pop();
    let found = switched(&blocks, None, 1).verdict;
    assert_eq!(found.blocks, 14);
    assert!(switched(&[], None, 1).verdict.effects.is_empty());
    assert_eq!(switched(&[], None, 1).verdict.p, 1.0);
}

#[test]
fn all_orders_and_drawn_ones_agree() {
    // 16 pairs are tried, 17 are drawn: a pair without a difference changes nothing.
    let differences: Vec<f64> = (1..=16)
        .map(|at| if [3, 7, 12].contains(&at) { -f64::from(at) } else { f64::from(at) })
        .collect();
    let few = [differences.clone()];
    let tried = permutations::test(&few, 5);
    let mut more = vec![0.0];
    more.extend(differences);
    let drawn = permutations::test(&[more], 5);
    let error = (tried.p * (1.0 - tried.p) / 9_999.0).sqrt();
    // Ranks are one higher beside a zero, which changes p a little.
    assert!((tried.p - drawn.p).abs() < 5.0 * error + 0.002, "{tried:?} {drawn:?}");
}

#[test]
fn figures_that_are_tested_together_have_one_false_alarm() {
    let one = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let other = vec![-1.0, 2.0, -3.0, 4.0, 5.0, -6.0];
    let single = [one.clone()];
    let alone = permutations::test(&single, 1).p;
    let joint = permutations::test(&[one.clone(), other], 1);
    assert_eq!(alone, 2.0 / 64.0);
    // Two other turns give the second figure all its signs.
    assert_eq!(joint.adjusted[0], 4.0 / 64.0);
    assert_eq!(permutations::test(&[one.clone(), one], 1).p, alone);
}
