//! Limits only shrink.

use super::Ratchet;
use crate::tree::Text;

fn ratchet(text: &str) -> Ratchet {
    Ratchet::parse(&Text::new("ratchet.txt", text)).expect("the sample is well formed")
}

#[test]
fn a_shrunken_measure_asks_for_a_lower_limit() {
    let mut ratchet = ratchet("# head\nfn a.rs run 90 # why\nfile b.rs 900\n");
    assert_eq!(ratchet.measure("fn a.rs run", 80), Some(90));
    assert_eq!(ratchet.measure("file b.rs", 900), Some(900));
    let slack = ratchet.slack();
    assert_eq!(slack.len(), 1);
    assert!(slack[0].what.contains("from 90 to 80"), "{}", slack[0]);
    assert!(ratchet.lowered().ends_with("file b.rs 900\nfn a.rs run 80\n"));
}

#[test]
fn a_limit_without_a_measure_is_dropped() {
    let ratchet = ratchet("file gone.rs 900\n");
    assert_eq!(ratchet.slack().len(), 1);
    assert!(!ratchet.lowered().contains("gone.rs"));
}

#[test]
fn a_grown_measure_keeps_its_limit_and_a_new_offender_gets_none() {
    let mut ratchet = ratchet("fn a.rs run 90\n");
    ratchet.measure("fn a.rs run", 95);
    assert_eq!(ratchet.measure("fn a.rs new", 95), None);
    assert!(ratchet.lowered().ends_with("fn a.rs run 90\n"));
}

#[test]
fn a_new_cone_gets_its_budget() {
    let mut ratchet = ratchet("");
    assert_eq!(ratchet.measure("cone stdx", 4), None);
    assert!(ratchet.lowered().ends_with("cone stdx 4\n"));
}

#[test]
fn a_line_without_a_number_is_refused_with_its_place() {
    let error = Ratchet::parse(&Text::new("r.txt", "\nfn a.rs\n")).expect_err("no number");
    assert_eq!(error.to_string(), "r.txt:2: not `kind name… limit`: `fn a.rs`");
}

#[test]
fn a_cone_below_its_budget_is_no_finding_and_is_lowered_on_request() {
    let mut ratchet = ratchet("cone stdx 9\n");
    ratchet.measure("cone stdx", 4);
    assert_eq!(ratchet.slack(), []);
    assert!(ratchet.lowered().ends_with("cone stdx 4\n"));
}
