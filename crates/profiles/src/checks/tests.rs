//! Claims about `checks`: what counting does when it takes too long or fails.

use super::*;

fn foreign(rows: u32) -> (Connection, Layout) {
    let connection = Connection::open_in_memory().unwrap();
    let sql = "CREATE TABLE user_profiles (profile_id text PRIMARY KEY, data text);
               WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ";
    let sql = format!("{sql}{rows}) INSERT INTO user_profiles SELECT 'user-' || i, '' FROM n;");
    connection.execute_batch(&sql).unwrap();
    let layout = Layout::detect(&connection, &Schema::default(), Path::new("p.db")).unwrap();
    (connection, layout)
}

#[test]
fn counting_ends_when_it_takes_too_long_and_leaves_the_connection_fit() {
    let (mut connection, layout) = foreign(40_000);
    let count = |connection: &mut Connection, time_max| {
        count_rows(connection, &layout, None, time_max).unwrap()
    };
    assert_eq!(count(&mut connection, Duration::ZERO), None);
    assert_eq!(count(&mut connection, Duration::from_secs(3_600)), Some(40_000));
    // What comes after is not measured against the time that counting had.
    assert_eq!(count(&mut connection, Duration::ZERO), None);
    let sql = "SELECT count(length(profile_id)) FROM user_profiles";
    let rows: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 40_000);
}

#[test]
fn a_table_that_cannot_be_counted_is_an_error_and_not_a_large_one() {
    let (mut connection, layout) = foreign(1);
    connection.execute_batch("DROP TABLE user_profiles").unwrap();
    assert!(count_rows(&mut connection, &layout, None, COUNT_TIME_MAX).is_err());
}

#[test]
fn a_file_may_lose_the_share_that_it_may_and_no_row_more() {
    let options = FileOptions { rows_min: 10, shrink_max: 0.25, ..FileOptions::default() };
    let fits = |rows, last| check_floor(rows, last, &options, Path::new("p.db")).is_ok();
    for (rows, last, expected) in [
        (10, None, true),
        (9, None, false),
        (75, Some(100), true),
        (74, Some(100), false),
        (10, Some(99), true),
        (9, Some(9), false),
    ] {
        assert_eq!(fits(rows, last), expected, "{rows} rows after {last:?}");
    }
}
