//! Claims about what those who serve see of the builds of others.

use super::*;

/// A handle on the file of builds, and the number of its generation after a look.
fn polled(profiles: &Profiles) -> Option<u64> {
    profiles.poll();
    profiles.generation()
}

#[test]
fn a_build_that_changed_no_profile_is_no_new_generation() {
    let steps = three_builds();
    let profiles = Profiles::open(&steps.fixture.plan.file, FileOptions::default());
    assert_eq!(polled(&profiles), Some(1));
    let changes = steps.manifest().changes;
    assert_eq!(steps.build(0.21).lines, 0);
    assert_eq!((steps.manifest().built_unix_ms, steps.manifest().changes), (at(0.21), changes));
    assert_eq!(polled(&profiles), Some(1));
    for (days, generation) in [(0.3, 2), (0.4, 3)] {
        steps.record(&[("ann", &format!("later-{days}"), days)]);
        steps.build(days);
        assert_eq!(polled(&profiles), Some(generation));
        assert_eq!(polled(&profiles), Some(generation), "nothing was built meanwhile");
        assert_eq!(profiles.data(b"ann").unwrap().recent().next(), Some(&*format!("later-{days}")));
    }
}

#[test]
fn a_build_that_fails_leaves_the_tables_of_a_state_that_fails_as_they_are() {
    let mut steps = three_builds();
    let dir = state::dir_of(&steps.fixture.plan.file);
    fs::write(state::manifest_path(&dir), "damaged").unwrap();
    let before = files(&dir);
    steps.fixture.plan.rows_min = 1_000;
    steps.record(&[("ann", "more", 0.4)]);
    let refused = steps.try_build(0.5, Output::Changes).unwrap_err().to_string();
    assert!(refused.contains("fewer than `rows_min`"), "{refused}");
    for (path, bytes) in before {
        assert!(fs::read(&path).unwrap() == bytes, "{}", path.display());
    }
}
