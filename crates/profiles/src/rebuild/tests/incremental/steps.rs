//! Claims about how a build goes on: by changes, by merging tables, or by a whole file.

use super::*;

#[test]
fn a_table_is_more_than_twice_as_long_as_the_next() {
    let steps = Steps::new(Config::default());
    steps.record(&borrowed(&many(0..300)));
    steps.build(0.0);
    let mut next_table = steps.manifest().next_table;
    for step in 1..9_u32 {
        let days = f64::from(step) / 50.0;
        let user = format!("user-{step:04}");
        steps.record(&[(&user, "new", days), ("ann", &user, days)]);
        assert_eq!(steps.build(days).items, None);
        let manifest = steps.manifest();
        let written = manifest.next_table - next_table;
        assert!(written == 3 || step > 1 && (4..=6).contains(&written), "{written} tables");
        next_table = manifest.next_table;
        for tables in [&manifest.reads[1..], &manifest.expiry[1..], &manifest.changes] {
            let halves = tables.windows(2).all(|pair| pair[0].bytes > 2 * pair[1].bytes);
            assert!(halves, "{tables:?}");
        }
    }
    steps.assert_as_whole();
}

#[test]
fn more_users_whose_reads_grow_old_than_an_update_may_look_at_cost_a_whole_file() {
    for (expired_max, folds) in [(3, false), (2, true)] {
        let shrink_max = Some("100%".into());
        let mut steps = Steps::new(Config { items_min: Some(1), shrink_max, ..Config::default() });
        steps.expired_max = expired_max;
        steps.record(&borrowed(&many(29 * 10..29 * 10 + 29)));
        let old = ["ann", "bob", "eve"].map(|user| (user, "1", -29.9));
        steps.record(&old);
        steps.build(0.0);
        let built = steps.build(0.2);
        assert_eq!((built.lines, built.items.is_some(), built.rows), (0, folds, 29));
        steps.assert_as_whole();
    }
}

#[test]
fn a_segment_in_which_no_line_was_written_may_go() {
    let steps = three_builds();
    let offset = steps.manifest().journal.offset;
    let empty = steps.fixture.journal().join(format!("{offset:020}.log"));
    fs::write(&empty, "").unwrap();
    assert_eq!(lines_after(&steps, |_| {}), 0);
    assert_eq!(lines_after(&steps, |_| fs::remove_file(&empty).unwrap()), 0);
}
