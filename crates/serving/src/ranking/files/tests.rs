//! Changes of either file.

use super::*;
use crate::tests as fixture;

fn state(files: &ModelFiles) -> Option<(String, usize)> {
    let guard = files.peek();
    guard.as_ref().map(|it| (it.version.clone(), it.ranker.len()))
}

#[test]
fn a_good_change_of_either_file_is_a_new_generation() {
    let dir = fixture::dir(10);
    let plan = fixture::plan(dir.path());
    let (model, items) = (plan.file.clone(), plan.items.clone());
    let files = ModelFiles::open(plan);
    assert_eq!(state(&files), Some(("1".into(), 10)));
    files.poll();
    fixture::replace(&items, &fixture::items(20));
    files.poll();
    assert_eq!(state(&files), Some(("1".into(), 20)));
    fixture::replace(&model, &fixture::MODEL.replace("\"version\":\"1\"", "\"version\":\"2\""));
    files.poll();
    assert_eq!(state(&files), Some(("2".into(), 20)));
}

#[test]
fn the_last_good_generation_serves_on_and_the_fault_is_known() {
    let dir = fixture::dir(10);
    let plan = fixture::plan(dir.path());
    let (model, items) = (plan.file.clone(), plan.items.clone());
    let files = ModelFiles::open(plan);
    fixture::replace(&items, "{\"id\":\"1\"}\n{\"id\":\"1\"}\n");
    fixture::replace(&model, "{\"format\":\"tidegate-linear-1\"");
    files.poll();
    assert_eq!(state(&files), Some(("1".into(), 10)));
    let [model_status, items_status] = files.status();
    let problem = model_status.problem.unwrap().message;
    assert!(problem.contains("model.json") && problem.contains("EOF"), "{problem}");
    assert!(items_status.problem.is_some());
    fixture::replace(&items, &fixture::items(30));
    fixture::replace(&model, fixture::MODEL);
    files.poll();
    assert_eq!(state(&files), Some(("1".into(), 30)));
    assert!(files.status().iter().all(|status| status.problem.is_none()));
}

#[test]
fn a_file_is_refused_for_its_own_faults_only() {
    let dir = fixture::dir(10);
    let plan = fixture::plan(dir.path());
    let (model, items) = (plan.file.clone(), plan.items.clone());
    fixture::replace(&model, "{\"format\":\"tidegate-linear-1\"");
    let files = ModelFiles::open(plan);
    let problems = |files: &ModelFiles| files.status().map(|status| status.problem.is_some());
    assert_eq!(problems(&files), [true, false], "good items");
    fixture::replace(&items, "{}");
    files.poll();
    assert_eq!(problems(&files), [true, true]);
    fixture::replace(&model, fixture::MODEL);
    files.poll();
    assert_eq!((problems(&files), state(&files)), ([false, true], None), "a good model");
    fixture::replace(&items, &fixture::items(4));
    files.poll();
    assert_eq!((problems(&files), state(&files)), ([false, false], Some(("1".into(), 4))));
    let wide = r#"{"name":"item.popularity","weight":1e300,"scale":1e-300}"#;
    let narrow = r#"{"name":"item.popularity","weight":1}"#;
    fixture::replace(&model, &fixture::MODEL.replace(narrow, wide));
    files.poll();
    assert_eq!(problems(&files), [true, false], "both together, seen when the model changed");
    fixture::replace(&items, &fixture::items(5));
    files.poll();
    assert_eq!((problems(&files), state(&files)), ([true, true], Some(("1".into(), 4))));
}

#[test]
fn both_files_of_trees_are_swapped_live() {
    let dir = fixture::dir(10);
    let mut plan = fixture::plan(dir.path());
    plan.file = dir.path().join("model.txt");
    let (model, items) = (plan.file.clone(), plan.items.clone());
    fixture::replace(&model, fixture::TREES);
    let files = ModelFiles::open(plan);
    let before = state(&files).unwrap();
    fixture::replace(&model, &fixture::TREES.replace("leaf_value=1 4", "leaf_value=1 5"));
    fixture::replace(&items, &fixture::items(20));
    files.poll();
    let after = state(&files).unwrap();
    assert!(before.0 != after.0 && after.1 == 20, "{before:?}, then {after:?}");
}

#[test]
fn files_that_appear_later_are_served_then() {
    let dir = tempfile::tempdir().unwrap();
    let plan = fixture::plan(dir.path());
    let files = ModelFiles::open(plan.clone());
    assert_eq!(state(&files), None);
    fixture::replace(&plan.file, fixture::MODEL);
    files.poll();
    assert_eq!(state(&files), None, "a model without items is nothing");
    fixture::replace(&plan.items, &fixture::items(5));
    files.poll();
    assert_eq!(state(&files), Some(("1".into(), 5)));
}

#[test]
fn a_request_keeps_the_generation_it_began_with() {
    let dir = fixture::dir(10);
    let plan = fixture::plan(dir.path());
    let files = ModelFiles::open(plan.clone());
    let guard = files.peek();
    fixture::replace(&plan.items, &fixture::items(20));
    files.poll();
    assert_eq!(guard.as_ref().unwrap().ranker.len(), 10);
    assert_eq!(state(&files), Some(("1".into(), 20)));
}
