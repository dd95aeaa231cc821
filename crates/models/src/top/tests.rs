//! Partial selection against sorting everything.

use super::*;

#[test]
fn selection_equals_sorting_for_every_limit() {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for round in 0..200 {
        let len = (next() % 700) as usize;
        // Few different scores, so that ties are the rule.
        let all: Vec<Ranked> =
            (0..len).map(|row| Ranked { row: row as u32, score: (next() % 50) as f64 }).collect();
        let mut sorted = all.clone();
        sorted.sort_by(order);
        for limit in [0, 1, 10, 31, 32, 33, 200, 1000] {
            let mut top = Top::default();
            top.reset(limit);
            all.iter().for_each(|ranked| top.push(*ranked));
            assert_eq!(top.finish(), &sorted[..limit.min(len)], "round {round}, limit {limit}");
        }
    }
}

#[test]
fn marks_report_a_second_marking_and_empty_on_reset() {
    let mut marks = Marks::default();
    marks.reset(200);
    assert!(marks.mark(130));
    assert!(!marks.mark(130));
    assert!(marks.has(130) && !marks.has(129));
    assert_eq!(marks.rows(), [130]);
    marks.reset(10);
    marks.reset(200);
    assert!(!marks.has(130));
}
