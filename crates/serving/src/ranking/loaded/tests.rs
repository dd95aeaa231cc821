//! Candidate sets, and files that do not fit.

use super::*;
use crate::tests as fixture;

#[test]
fn sets_are_filtered_by_text_and_cut_to_the_highest() {
    let dir = fixture::dir(12);
    let mut plan = fixture::plan(dir.path());
    plan.candidates[0].highest = Some(("popularity".into(), 2));
    let loaded = LoadedRanker::load(&plan).unwrap();
    let sets: Vec<_> = loaded.sets.iter().map(|(name, set)| (name.as_str(), set.rows())).collect();
    assert_eq!(sets, [("business", &[0, 3][..]), ("top", &[0, 1, 2, 3])]);
    assert_eq!(loaded.categories.len(), 3);
}

#[test]
fn a_set_by_a_number_that_no_item_has_is_refused() {
    let dir = fixture::dir(12);
    let mut plan = fixture::plan(dir.path());
    plan.candidates[1].highest = Some(("freshness".into(), 2));
    let error = LoadedRanker::load(&plan).unwrap_err().to_string();
    assert_eq!(error, "candidate set `top`: no item has a number `freshness`");
}

#[test]
fn a_field_that_no_item_has_is_refused_with_the_one_that_was_meant() {
    let dir = fixture::dir(12);
    let mut plan = fixture::plan(dir.path());
    plan.fields = Some(vec!["title".into(), "populartiy".into()]);
    let error = LoadedRanker::load(&plan).unwrap_err().to_string();
    let wanted = "no item has `populartiy`, which `fields` names; did you mean `popularity`?";
    assert!(error.ends_with(wanted), "{error}");
}

#[test]
fn a_set_of_a_text_that_no_item_has_is_empty() {
    let dir = fixture::dir(12);
    let mut plan = fixture::plan(dir.path());
    plan.candidates[0].fields = vec![("publisher".into(), "nobody".into())];
    assert_eq!(LoadedRanker::load(&plan).unwrap().sets[0].1.rows(), [0_u32; 0]);
}

#[test]
fn errors_name_the_file() {
    let dir = fixture::dir(12);
    let mut plan = fixture::plan(dir.path());
    fixture::replace(&plan.items, "[]");
    let error = LoadedRanker::load(&plan).unwrap_err();
    assert!(error.to_string().ends_with("items.jsonl`"), "{error}");
    plan.file = dir.path().join("gone.json");
    let error = LoadedRanker::load(&plan).unwrap_err();
    assert!(error.to_string().ends_with("gone.json`"), "{error}");
}
