//! Claims about the tables and views that are made.

use super::*;

/// A table of these columns, whose texts are its key.
fn table_of(columns: &[(&str, Kind, ColumnRole)]) -> Arc<Table> {
    let columns = columns.iter().map(|(name, kind, role)| column(name, *kind, *role)).collect();
    Arc::new(Table { name: "t".to_owned(), columns })
}

/// Statements that a server which can do this gets.
fn created(table: &Table, has_tokens: bool, has_fine_times: bool) -> Vec<String> {
    Abilities::new(has_tokens, has_fine_times).create(table)
}

#[test]
fn rows_are_added_up_by_the_server_only_where_that_drops_none_that_counts() {
    use ColumnRole::{Key, Min, Plain, Sum};
    let (key, count) = (("k", Kind::Text, Key), ("count", Kind::Integer, Sum));
    let sum = ("sum_x", Kind::Integer, Sum);
    for (columns, expected) in [
        (&[key, count][..], "SummingMergeTree()"),
        (&[key, sum, count], "SummingMergeTree()"),
        // All of its sums may be 0.
        (&[key, sum], "MergeTree()"),
        (&[key, count, ("min_x", Kind::Integer, Min)], "MergeTree()"),
        (&[count], "MergeTree()"),
        (&[("count", Kind::Integer, Plain)], "MergeTree()"),
    ] {
        let statements = created(&table_of(columns), true, true);
        assert!(
            statements[0].contains(&format!(" ENGINE = {expected} ORDER BY ")),
            "{statements:?}"
        );
    }
}

#[test]
fn rows_without_a_key_go_into_the_table_itself_and_need_no_view() {
    use ColumnRole::Plain;
    let raw = table_of(&[
        ("time", Kind::Time, Plain),
        ("user", Kind::Text, Plain),
        ("bytes", Kind::Blob, Plain),
        ("part", Kind::Real, Plain),
    ]);
    assert_eq!(schema::target(&raw), "t");
    assert_eq!(
        created(&raw, false, false),
        ["CREATE TABLE IF NOT EXISTS `t` (`time` Nullable(DateTime('UTC')), \
          `user` Nullable(String), `bytes` Nullable(String), `part` Nullable(Float64)) \
          ENGINE = MergeTree() ORDER BY (tuple())"]
    );
}

#[test]
fn a_view_merges_the_least_the_largest_and_collects_sketches() {
    use ColumnRole::{Key, Max, Min, Sketch};
    let table = table_of(&[
        ("path", Kind::Text, Key),
        ("minute", Kind::Time, Key),
        ("min_x", Kind::Integer, Min),
        ("max_x", Kind::Real, Max),
        ("users", Kind::Blob, Sketch),
    ]);
    assert_eq!(schema::target(&table), "t_deltas");
    assert_eq!(
        created(&table, true, false),
        [
            "CREATE TABLE IF NOT EXISTS `t_deltas` (`path` String, `minute` DateTime('UTC'), \
             `min_x` Nullable(Int64), `max_x` Nullable(Float64), `users` String) \
             ENGINE = MergeTree() ORDER BY (`path`, `minute`) \
             SETTINGS non_replicated_deduplication_window = 10000",
            "CREATE VIEW IF NOT EXISTS `t` AS SELECT _0 AS `path`, _1 AS `minute`, _2 AS `min_x`, \
             _3 AS `max_x`, _4 AS `users` FROM (SELECT `path` AS _0, `minute` AS _1, \
             min(`min_x`) AS _2, max(`max_x`) AS _3, groupArray(`users`) AS _4 FROM `t_deltas` \
             GROUP BY `path`, `minute`)",
        ]
    );
}

#[test]
fn tables_of_our_own_have_a_column_for_every_member_of_their_rows() {
    let fake = Fake::start();
    let (mut sink, _) = fake.begun();
    sink.deliver(&batch(1, 10, 10)).unwrap();
    let state = fake.state.lock().unwrap();
    for name in [BATCHES, CHECKPOINTS] {
        let made = state.statements.iter().find(|made| made.contains(&format!(" {name} ")));
        let columns = made.unwrap().split_once('(').unwrap().1.split_once(')').unwrap().0;
        let columns: BTreeSet<&str> =
            columns.split(", ").map(|column| column.split(' ').next().unwrap()).collect();
        let row = state.of(name).next().unwrap().as_object().unwrap();
        assert_eq!(row.keys().map(String::as_str).collect::<BTreeSet<_>>(), columns);
        assert!(made.unwrap().ends_with("deduplication_window = 10000"), "{made:?}");
    }
}
