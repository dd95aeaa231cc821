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
    polled(&profiles);
    assert_eq!(profiles.status().file.unwrap().built_unix_ms, Some(at(0.21)));
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

#[test]
fn a_table_that_was_missing_is_read_once_it_is_there() {
    let steps = three_builds();
    let name = steps.manifest().changes[0].name.clone();
    let path = state::dir_of(&steps.fixture.plan.file).join(name);
    let away = path.with_extension("away");
    fs::rename(&path, &away).unwrap();
    let profiles = Profiles::open(&steps.fixture.plan.file, FileOptions::default());
    assert!(profiles.status().file.unwrap().changes_error.is_some());
    assert_eq!((polled(&profiles), profiles.lookup(b"ann")), (Some(1), Lookup::Absent));
    fs::rename(&away, &path).unwrap();
    assert_eq!((polled(&profiles), profiles.lookup(b"ann")), (Some(2), Lookup::Present));
    assert_eq!(profiles.status().file.unwrap().changes_error, None);
}

#[test]
fn the_keys_of_changes_count_as_memory_and_their_rows_as_profiles() {
    let (steps, profiles) = super::served();
    let status = || profiles.status().file.unwrap();
    let before = status();
    assert_eq!((before.rows, before.profiles), (Some(301), Some(301)));
    steps.record(&[("ann", "1", 2.9), ("ann", "2", 2.9), ("eve", "1", 2.9), ("eve", "2", 2.9)]);
    let rows = steps.build(3.0).rows;
    profiles.poll();
    let after = status();
    assert_eq!((after.rows, after.profiles), (Some(rows), Some(rows)));
    let manifest = steps.manifest();
    let dir = state::dir_of(&steps.fixture.plan.file);
    let tables = state::open_all(&dir, &manifest.changes).unwrap();
    let changed: usize = tables.iter().map(|table| table.entries() as usize).sum();
    let bytes = after.resident_bytes.unwrap() - before.resident_bytes.unwrap();
    // Those who are gone stand in two filters, and an empty filter has a few slots.
    assert!((8 * (changed + 1)..24 * changed + 64).contains(&bytes), "{bytes} for {changed}");
}

#[test]
fn changes_that_cannot_be_read_are_logged_once() {
    let steps = three_builds();
    let profiles = Profiles::open(&steps.fixture.plan.file, FileOptions::default());
    steps.record(&[("ann", "more", 0.4)]);
    steps.build(0.4);
    let changes = steps.manifest().changes;
    let newest = state::dir_of(&steps.fixture.plan.file).join(&changes.last().unwrap().name);
    fs::write(newest, "damaged").unwrap();
    let warned = || logged(|| assert_eq!(polled(&profiles), Some(1)));
    let first = warned();
    assert!(first.len() == 1 && first[0].contains("changes to profiles not read"), "{first:?}");
    assert_eq!(warned(), [""; 0], "nothing was built meanwhile");
    assert_eq!(profiles.lookup(b"ann"), Lookup::Present, "as the last changes say");
}
