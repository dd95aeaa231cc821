//! Claims about builds that read the whole journal again: when, and that the log says why.

use super::*;

/// Builds at `days`, and returns the lines that it read and why these were all.
fn reason(steps: &Steps, days: f64) -> (u64, Option<String>) {
    let mut lines = 0;
    let logged = logged(|| lines = steps.build(days).lines);
    let reason = logged.iter().find_map(|line| {
        let reason = line.split_once("profiles are built from the whole journal reason=")?.1;
        Some(reason.trim_matches('"').to_owned())
    });
    (lines, reason)
}

#[test]
fn a_build_that_reads_all_says_why() {
    let mut steps = three_builds();
    assert_eq!(reason(&steps, 0.3), (0, None));
    steps.fixture.plan.half_life /= 2;
    assert_eq!(reason(&steps, 0.4), (904, Some("the settings have changed".to_owned())));
    let dir = state::dir_of(&steps.fixture.plan.file);
    fs::write(state::manifest_path(&dir), "").unwrap();
    let damaged = "the state fails: the manifest is damaged";
    assert_eq!(reason(&steps, 0.4), (904, Some(damaged.to_owned())));
    fs::remove_dir_all(dir).unwrap();
    let none = "there is no state of an earlier build";
    assert_eq!(reason(&steps, 0.4), (904, Some(none.to_owned())));
    fs::remove_file(&steps.fixture.plan.file).unwrap();
    let other = "the profile file is not the one of the state";
    assert_eq!(reason(&steps, 0.4), (904, Some(other.to_owned())));
}

#[test]
fn a_clock_may_go_back_by_a_minute() {
    let back = |ms: f64| {
        let steps = three_builds();
        let found = reason(&steps, 0.2 - ms / DAY_MS as f64);
        (found, steps.manifest().built_unix_ms)
    };
    assert_eq!(back(60_000.0), ((0, None), at(0.2)), "time does not go back for profiles");
    let reason = "the clock was set back by 60 s".to_owned();
    assert_eq!(back(60_001.0), ((904, Some(reason)), at(0.2) - 60_001));
}

#[test]
fn a_table_that_is_damaged_in_its_middle_costs_at_most_a_whole_build() {
    for output in [Output::Changes, Output::WholeFile] {
        let steps = three_builds();
        let dir = state::dir_of(&steps.fixture.plan.file);
        let path = dir.join(&steps.manifest().reads[0].name);
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() * 3 / 8;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
        steps.record(&[("ann", "more", 0.4), ("user-0001", "more", 0.4)]);
        let lines = steps.try_build(0.5, output).unwrap().lines;
        assert!(output == Output::Changes || lines == 906, "a whole file needs all reads");
        steps.assert_as_whole();
    }
}
