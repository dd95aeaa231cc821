//! Claims about what is reported, and how often.

use std::path::Path;

use super::Reports;
use crate::source::ReadOutcome;

fn drained(reports: &mut Reports) -> Vec<String> {
    let mut all = Vec::new();
    while let Some(report) = reports.next() {
        all.push(match report {
            ReadOutcome::Unreadable { file, reason } => format!("{file}: {reason}"),
            ReadOutcome::Lost { file, from, to } => format!("{file}: lost {from} to {to}"),
            other => format!("{other:?}"),
        });
    }
    all
}

#[test]
fn a_file_is_said_to_be_unreadable_once_for_each_reason_until_it_can_be_read() {
    let (mut reports, path) = (Reports::default(), Path::new("a"));
    for reason in ["denied", "denied", "packed", "packed"] {
        reports.unreadable(path, reason.to_owned());
    }
    assert_eq!(drained(&mut reports), ["a: denied", "a: packed"]);
    reports.unreadable(path, "packed".to_owned());
    assert!(drained(&mut reports).is_empty());
    reports.settle(path);
    reports.unreadable(path, "packed".to_owned());
    assert_eq!(drained(&mut reports), ["a: packed"]);
}

#[test]
fn no_bytes_are_nothing_to_report() {
    let mut reports = Reports::default();
    reports.lost("a", 7, 7);
    reports.lost("a", 8, 7);
    reports.lost("a", 7, 9);
    assert_eq!(drained(&mut reports), ["a: lost 7 to 9"]);
}
