//! Claims about `connections`: what one may do, and how much memory it may take.

use super::*;

#[test]
fn a_connection_cannot_write_maps_nothing_and_keeps_few_mebibytes_of_pages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("100%? #ü.db");
    let sql = "PRAGMA page_size = 65536; CREATE TABLE t (a); INSERT INTO t VALUES (7);";
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    let connections = ReadOnlyConnections::open(&path, 2).unwrap();
    let ask = |sql: &str| -> i64 {
        connections.with(|connection| connection.query_row(sql, [], |row| row.get(0)).unwrap())
    };
    assert_eq!(ask("SELECT a FROM t"), 7);
    assert_eq!(ask("PRAGMA mmap_size"), 0);
    assert_eq!(ask("PRAGMA cache_size"), -4_096, "below zero it is KiB, whatever a page has");
    for sql in ["INSERT INTO t VALUES (8)", "PRAGMA user_version = 8", "DROP TABLE t"] {
        let written = connections.with(|connection| connection.execute_batch(sql));
        assert!(written.is_err(), "{sql}");
    }
    assert!(open(&folder.path().join("none.db")).is_err(), "nothing is created");
}
