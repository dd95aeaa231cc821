//! Files that change, and the import that each asks for.

use std::path::Path;
use std::time::{Duration, SystemTime};

use testkit::TempDir;

use super::*;

/// A policy that watches `models.py`, which is preloaded, and `app.py`.
fn policy(dir: &Path, change: impl FnOnce(&mut Plan)) -> ReloadPolicy {
    let mut plan = Plan::new("test", "app:app", dir, &dir.join("pool"));
    change(&mut plan);
    let mut policy = ReloadPolicy::new(&plan);
    let since = SystemTime::now() + Duration::from_secs(3600);
    for (name, by_preload) in [("models.py", true), ("app.py", false)] {
        write(dir, name, "1");
        policy.add(&LoadedFiles { files: vec![dir.join(name)], since, by_preload });
    }
    policy
}

fn write(dir: &Path, name: &str, text: &str) {
    std::fs::write(dir.join(name), text).unwrap();
}

/// Looks twice, as a change must be found, and a second later each time.
fn look(policy: &mut ReloadPolicy, now: &mut Instant) -> Option<ReloadRequest> {
    look_beside(policy, None, now)
}

/// As [`look`], while a request waits.
fn look_beside(
    policy: &mut ReloadPolicy,
    waits: Option<ReloadRequest>,
    now: &mut Instant,
) -> Option<ReloadRequest> {
    let mut looks = (0..2).map(|_| {
        *now += Duration::from_secs(1);
        policy.on_timer(waits, *now)
    });
    looks.find_map(|request| request)
}

fn files(with_new_preload: bool) -> Option<ReloadRequest> {
    Some(ReloadRequest { reason: "files", with_new_preload })
}

#[test]
fn only_a_change_of_preloaded_files_asks_for_a_new_preload_process() {
    let dir = TempDir::new().unwrap();
    let (mut policy, mut now) = (policy(dir.path(), |_| {}), Instant::now());
    assert_eq!(look(&mut policy, &mut now), None);
    write(dir.path(), "app.py", "22");
    assert_eq!(look(&mut policy, &mut now), files(false));
    write(dir.path(), "models.py", "22");
    assert_eq!(look(&mut policy, &mut now), files(true));
}

#[test]
fn a_request_that_waits_is_not_weakened_by_a_later_change() {
    let dir = TempDir::new().unwrap();
    let (mut policy, mut now) = (policy(dir.path(), |_| {}), Instant::now());
    write(dir.path(), "app.py", "22");
    assert_eq!(look_beside(&mut policy, files(true), &mut now), files(true));
}

#[test]
fn where_files_are_not_watched_a_command_finds_what_has_changed() {
    let dir = TempDir::new().unwrap();
    let (mut policy, mut now) = (policy(dir.path(), |plan| plan.reload = false), Instant::now());
    write(dir.path(), "models.py", "22");
    assert_eq!(look(&mut policy, &mut now), None);
    assert!(policy.on_command().with_new_preload);
    assert!(!policy.on_command().with_new_preload, "it is taken for known");
}
