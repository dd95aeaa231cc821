//! Growths that span intervals and blocks.

use verdicts::SignalKind;

use super::super::counters::Grown;
use super::{BLOCK, Block, IntervalGrid};

const INTERVAL_NS: u64 = 100;

fn grown(span_ns: [u64; 2], amount: f64, kind: SignalKind) -> Grown<'static> {
    let [from_ns, to_ns] = span_ns;
    Grown { number: 0, name: "forks", unit: "", from_ns, to_ns, amount, kind, is_program: false }
}

fn all(grid: IntervalGrid) -> Vec<Block> {
    let mut blocks = Vec::new();
    grid.end(&mut |block| blocks.push(block));
    blocks
}

#[test]
fn a_growth_is_spread_over_the_intervals_that_it_spans() {
    let mut grid = IntervalGrid::new(INTERVAL_NS);
    grid.add(grown([50, 250], 8.0, SignalKind::Sum));
    let blocks = all(grid);
    assert_eq!(blocks[0].columns[0][..4], [2.0, 4.0, 2.0, 0.0]);
    assert_eq!(blocks[0].signals[0].as_ref().map(|it| &*it.name), Some("forks"));
}

#[test]
fn a_level_and_a_peak_hold_in_each_interval() {
    let mut grid = IntervalGrid::new(INTERVAL_NS);
    grid.add(grown([0, 300], 8.0, SignalKind::Peak));
    grid.add(grown([100, 200], 5.0, SignalKind::Peak));
    assert_eq!(all(grid)[0].columns[0][..4], [8.0, 8.0, 8.0, 0.0]);
    let mut grid = IntervalGrid::new(INTERVAL_NS);
    grid.add(grown([0, 300], 8.0, SignalKind::Level));
    grid.add(grown([100, 200], 5.0, SignalKind::Level));
    assert_eq!(all(grid)[0].columns[0][..4], [8.0, 5.0, 8.0, 0.0]);
}

#[test]
fn a_block_is_handed_over_once_and_late_readings_reach_back_into_the_next() {
    let block_ns = BLOCK as u64 * INTERVAL_NS;
    let mut grid = IntervalGrid::new(INTERVAL_NS);
    let mut whole = Vec::new();
    grid.add(grown([0, 100], 1.0, SignalKind::Sum));
    grid.whole(2 * block_ns - 1, &mut |block| whole.push(block));
    assert_eq!(whole, []);
    grid.whole(2 * block_ns, &mut |block| whole.push(block));
    assert_eq!(whole.len(), 1);
    // What reaches back into a block that is gone goes into the oldest that is left.
    grid.add(grown([block_ns - 100, block_ns + 100], 6.0, SignalKind::Sum));
    let blocks = all(grid);
    assert_eq!((blocks[0].first, blocks[0].columns[0][0]), (BLOCK as u64, 6.0));
}

#[test]
fn time_without_a_reading_leaves_whole_blocks_of_nothing() {
    let block_ns = BLOCK as u64 * INTERVAL_NS;
    let mut grid = IntervalGrid::new(INTERVAL_NS);
    let mut firsts = Vec::new();
    grid.whole(5 * block_ns, &mut |block| firsts.push(block.first / BLOCK as u64));
    assert_eq!(firsts, [0, 1, 2, 3]);
}

#[test]
fn signals_that_grow_in_another_order_than_that_of_their_numbers_keep_their_names() {
    let mut grid = IntervalGrid::new(INTERVAL_NS);
    let of = |number, name| Grown { number, name, ..grown([0, 100], 1.0, SignalKind::Sum) };
    grid.add(of(2, "flushes"));
    grid.add(of(0, "forks"));
    grid.add(of(2, "flushes"));
    let blocks = all(grid);
    let names: Vec<_> =
        blocks[0].signals.iter().map(|signal| signal.as_ref().map(|it| &*it.name)).collect();
    assert_eq!(names, [Some("forks"), None, Some("flushes")]);
    assert_eq!((blocks[0].columns[0][0], blocks[0].columns[2][0]), (1.0, 2.0));
}
