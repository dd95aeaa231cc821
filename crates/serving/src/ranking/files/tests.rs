//! Changes of either file.

use super::*;
use crate::tests as fixture;

fn state(files: &ModelFiles) -> Option<(String, usize)> {
    let guard = files.peek();
    guard.as_ref().map(|it| (it.ranker.model().version.clone(), it.ranker.len()))
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
