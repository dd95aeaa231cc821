//! Claims about `update`: when a fold is due, and which tables are merged.

use super::*;

/// Tables of these lengths.
fn tables(bytes: &[u64]) -> Vec<TableFile> {
    let table =
        |(at, bytes): (usize, &u64)| TableFile { name: format!("{at}.reads"), bytes: *bytes };
    bytes.iter().enumerate().map(table).collect()
}

#[test]
fn a_fold_is_due_when_more_than_a_quarter_was_added() {
    for (reads, collected, small_bytes, due) in [
        (&[][..], &[][..], 0, true),
        (&[1_000], &[], 999, false),
        (&[1_000], &[], 1_000, true),
        (&[1_000], &[250], 0, false),
        (&[1_000], &[251], 0, true),
        (&[1_000, 100, 100], &[50], 0, false),
        (&[1_000, 100, 100], &[51], 0, true),
        (&[1_000, 251], &[], 0, true),
        (&[1_000], &[1, 1], 0, true),
    ] {
        let manifest = Manifest { reads: tables(reads), ..Manifest::default() };
        let collected = Collected { tables: tables(collected), ..Collected::default() };
        let found = is_fold_due(&manifest, &collected, small_bytes);
        assert_eq!(found, due, "{reads:?} {collected:?} {small_bytes}");
    }
}

#[test]
fn tables_are_merged_while_the_one_before_is_not_twice_as_long() {
    for (bytes, first, from) in [
        (&[][..], 1, 0),
        (&[9], 1, 0),
        (&[100, 5], 1, 1),
        (&[5, 5, 5], 1, 1),
        (&[5, 5, 5], 0, 0),
        (&[40, 10, 5], 0, 1),
        (&[31, 10, 5], 0, 1),
        (&[30, 10, 5], 0, 0),
        (&[40, 11, 5], 0, 2),
    ] {
        assert_eq!(first_to_merge(&tables(bytes), first), from, "{bytes:?} from {first} on");
    }
}
