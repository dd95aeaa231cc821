//! Claims about comparisons: a difference is named, and a build that goes on counts as a whole one.

use super::*;

#[test]
fn profiles_that_differ_from_those_of_a_whole_build_are_counted_and_named() {
    let steps = three_builds();
    let same = "lines of the journal: 904\nprofiles: 301\na whole build has the same";
    let same = format!("built, unix ms: {}\n{same}", at(0.2));
    assert_eq!(steps.compare().to_string(), same);
    let change = |sql: &str| {
        let connection = rusqlite::Connection::open(&steps.fixture.plan.file).unwrap();
        connection.execute_batch(sql).unwrap();
    };
    change(
        "UPDATE user_profiles SET data = '{}' WHERE profile_id = 'user-0005';
         DELETE FROM user_profiles WHERE profile_id IN ('user-0000', 'user-0007', 'user-0299');
         INSERT INTO user_profiles VALUES ('zoe', '{}');",
    );
    let comparison = steps.compare();
    assert_eq!((comparison.rows, comparison.whole_rows), (299, 301));
    assert_eq!((comparison.lines, comparison.built_unix_ms), (904, at(0.2)));
    assert_eq!(comparison.differences, 5);
    let named = ["user-0000", "user-0005", "user-0007", "user-0299", "zoe"];
    assert_eq!(comparison.named, named);
    let text = comparison.to_string();
    let end = "\nprofiles: 299\nprofiles of a whole build: 301\nprofiles that differ: 5, such as \
               user-0000, user-0005, user-0007, user-0299, zoe";
    assert!(text.ends_with(end), "{text}");
    change("UPDATE user_profiles SET data = '[]'");
    let comparison = steps.compare();
    assert_eq!((comparison.differences, comparison.named.len()), (300, 10), "{comparison}");
    assert!(!comparison.named.contains(&"user-0001".to_owned()), "its change is served");
}

#[test]
fn a_comparison_needs_a_state_of_these_settings_and_leaves_nothing() {
    let refusal = |harm: &dyn Fn(&mut Steps)| {
        let mut steps = three_builds();
        harm(&mut steps);
        let listing = || fs::read_dir(steps.fixture.folder.path()).unwrap().count();
        let before = listing();
        let compared =
            compare_with_whole(&steps.fixture.journal(), &steps.fixture.plan, &UserKey::Plain);
        assert_eq!(listing(), before);
        compared.unwrap_err().to_string()
    };
    let state = |steps: &Steps| state::dir_of(&steps.fixture.plan.file);
    for (harm, reason) in [
        (
            &(|steps: &mut Steps| fs::remove_dir_all(state(steps)).unwrap()) as &dyn Fn(&mut Steps),
            "there is no state of an earlier build; hint: compare after a build",
        ),
        (&|steps| steps.fixture.plan.half_life /= 2, "the settings have changed; hint"),
        (
            &|steps| fs::write(steps.fixture.folder.path().join("items.jsonl"), "").unwrap(),
            "the items file has changed; hint",
        ),
    ] {
        let refused = refusal(harm);
        assert!(refused.contains(reason), "{refused}");
    }
}

#[test]
fn a_build_that_goes_on_counts_profiles_and_users_as_a_whole_one() {
    let steps = Steps::new(Config { shrink_max: Some("100%".into()), ..Config::default() });
    steps.record(&borrowed(&many(0..100)));
    steps.record(&[("ann", "1", -29.0), ("ann", "2", -20.0), ("once", "1", -25.0)]);
    steps.build(0.0);
    for days in [0.5, 1.5, 6.0, 12.0] {
        steps.record(&[("ann", &format!("at-{days}"), days), ("new", &format!("{days}"), days)]);
        let went_on = steps.build(days);
        assert_eq!(went_on.items, None, "after {days} days");
        let whole = steps.try_build(days, Output::WholeFile).unwrap();
        assert_eq!((went_on.rows, went_on.users), (whole.rows, whole.users), "after {days} days");
    }
}
