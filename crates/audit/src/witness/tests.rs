//! Claims about what syslog says against a trail.

use stdx::FaultyDisk;

use super::{Contradiction, compare};
use crate::tests::{fill, trail, whole};

#[test]
fn witnesses_agree_differ_or_know_entries_that_are_gone() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 1);
    let reading = whole(&disk);
    let digits = |number| reading.hashes[&number][..12].to_owned();
    let (one, two) = (digits(1), digits(2));
    let text = format!(
        "Mar 30 10:48:05 big1 tidegate: Running purge url=/0 by root [audit 1 {one}]\n\
         Mar 30 10:48:05 big1 sshd[7]: Running out of [audit 1 000000000000]\n\
         2026-03-30T10:48:05Z big1 tidegate[9]: Running purge [audit 9 {two}] [audit 2 {one}]\n\
         Mar 30 10:48:05 big1 tidegate: Running purge by root [audit not written]\n\
         Mar 30 10:48:06 big1 tidegate: Running purge by root: done [audit 7 {two}]\n"
    );
    let found = compare(&reading, text.as_bytes()).unwrap();
    assert_eq!(found.count, 3);
    assert_eq!(
        found.contradictions,
        [
            Contradiction { line: 3, number: 2, witness: one, trail: Some(two.clone()) },
            Contradiction { line: 5, number: 7, witness: two, trail: None },
        ]
    );
}

#[test]
fn any_bytes_can_be_compared() {
    let disk = FaultyDisk::new(1);
    fill(&trail(&disk, 1 << 20), 1);
    let reading = whole(&disk);
    let long = "x".repeat(200_000);
    let text = format!("{long}\ntidegate: Running \u{fffd} [audit 99999999999999999999 a]\n\0");
    let found = compare(&reading, text.as_bytes()).unwrap();
    assert_eq!((found.count, found.contradictions.len()), (0, 0));
}
