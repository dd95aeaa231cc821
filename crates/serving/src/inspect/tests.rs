//! The two commands on a small model.

use exchange::Refusal;

use super::*;
use crate::tests as fixture;

#[test]
fn inspecting_shows_weights_and_categories() {
    let dir = fixture::dir(7);
    let plan = fixture::plan(dir.path());
    let text = inspect(&plan.file, Some(&plan.items)).unwrap().to_string();
    assert!(text.starts_with("news version 1, link Identity\n    0.500000  intercept\n"), "{text}");
    assert!(text.contains("    8.000000  user.affinity.b * item.category=b\n"), "{text}");
    assert!(text.contains("7 items, "), "{text}");
    assert!(text.contains("           3  category b\n           2  category e\n"), "{text}");
    let alone = inspect(&plan.file, None).unwrap();
    assert!(matches!(alone, Inspection::Linear { items: None, .. }));
}

#[test]
fn scoring_answers_as_the_server_does() {
    let dir = fixture::dir(7);
    let plan = fixture::plan(dir.path());
    let reply = score(&plan.file, &plan.items, br#"{"limit":1}"#).unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
    assert_eq!((&reply["model"], &reply["items"][0]["id"]), (&"news".into(), &"0".into()));
    let refused = score(&plan.file, &plan.items, b"{").unwrap_err();
    assert!(matches!(refused, InspectError::Refused(Refusal { status: 400, .. })));
}

#[test]
fn trees_are_inspected_and_scored_with_their_items() {
    let dir = fixture::dir(7);
    let items = fixture::plan(dir.path()).items;
    let file = dir.path().join("clicks.txt");
    fixture::replace(&file, fixture::TREES);
    let text = inspect(&file, Some(&items)).unwrap().to_string();
    assert!(text.contains("column user.affinity@item.category\n7 items, "), "{text}");
    let reply = score(&file, &items, br#"{"limit":1}"#).unwrap();
    let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap();
    assert_eq!((&reply["model"], &reply["items"][0]["id"]), (&"clicks".into(), &"0".into()));
}
