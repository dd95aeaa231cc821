//! Claims about what a ghost costs, and about the order in which ghosts are forgotten.

use super::{BYTES_EACH, Ghosts, table_bytes};

/// Returns the average and the largest of the costs.
fn spread(costs: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = costs.clone().count();
    (costs.clone().sum::<f64>() / count as f64, costs.fold(0.0, f64::max))
}

#[test]
fn a_place_costs_more_than_on_average_and_less_than_at_worst() {
    let mut ghosts = Ghosts::default();
    let mut table_costs = Vec::new();
    let mut costs = Vec::new();
    for hash in 0..7168_u64 {
        ghosts.remember(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let each = |bytes: usize| bytes as f64 / (hash + 1) as f64;
        // The table doubles twice in this range, and so does the order.
        if hash >= 1792 {
            let table = ghosts.turns.allocation_size();
            table_costs.push(each(table));
            costs.push(each(table + ghosts.order.capacity() * size_of::<u64>()));
        }
    }
    let (average, worst) = spread(costs.iter().copied());
    let estimate = BYTES_EACH as f64;
    assert!(average < estimate && estimate < worst, "{average} < {estimate} < {worst}");
    // Of tables only the emptier half counts, so that the estimate is rarely too low.
    table_costs.sort_by(f64::total_cmp);
    let (average, worst) = spread(table_costs[table_costs.len() / 2..].iter().copied());
    let estimate = table_bytes(size_of::<u32>()) as f64;
    assert!(average * 0.99 < estimate && estimate < worst, "{average} < {estimate} < {worst}");
}

#[test]
fn the_oldest_is_forgotten_first_whether_it_was_taken_out_or_not() {
    // The numbers of turns wrap around meanwhile.
    let mut ghosts = Ghosts { first: u32::MAX - 3, ..Ghosts::default() };
    (0..10).for_each(|hash| ghosts.remember(hash));
    assert_eq!([ghosts.forget(0), ghosts.forget(0), ghosts.forget(7)], [true, false, true]);
    assert_eq!(ghosts.len(), 10, "each keeps its place in the order");
    ghosts.trim(10);
    assert_eq!(ghosts.len(), 10);
    ghosts.trim(6);
    assert_eq!(ghosts.len(), 6);
    let left: Vec<u64> = (0..10).filter(|hash| ghosts.forget(*hash)).collect();
    assert_eq!(left, [4, 5, 6, 8, 9]);
    // One that comes again takes its turn behind the others.
    ghosts.remember(4);
    ghosts.trim(1);
    assert_eq!([ghosts.forget(9), ghosts.forget(4)], [false, true]);
    ghosts.trim(0);
    assert_eq!((ghosts.len(), ghosts.turns.len()), (0, 0));
}
