//! The table in short: a set of each row is counted, and rows have their own samples.

use super::rows;

#[test]
fn a_set_repeats_and_each_claim_has_a_name() {
    for (place, row) in rows().iter().enumerate().take(3) {
        let counts = row.count(1, place, 0..1);
        assert_eq!(counts, row.count(1, place, 0..1), "{}", row.name);
        assert!(counts[row.claims.len()..].iter().all(|count| count[1] == 0), "{}", row.name);
    }
}
