//! Who merges sketches has them alone: two sources of a node may meet in one row.

use metrics::Uniques;
use pipeline::SinkError;
use testkit::Session;

use super::*;

fn sketches() -> Arc<Table> {
    let columns = vec![
        column("path", Kind::Text, ColumnRole::Key),
        column("node", Kind::Text, ColumnRole::Key),
        column("users", Kind::Blob, ColumnRole::Sketch),
    ];
    Arc::new(Table { name: "t_sketches".to_owned(), columns })
}

fn of(node: &str, sequence: u64) -> Batch {
    let mut sketch = Uniques::default();
    sketch.add(&sequence.to_le_bytes());
    let mut bytes = Vec::new();
    sketch.encode(&mut bytes);
    let row: &[CellValue<'_>] =
        &[CellValue::Text(b"/a"), CellValue::Text(node.as_bytes()), CellValue::Blob(&bytes)];
    let mut batch = batch(sequence, rows(&sketches(), &[row]));
    node.clone_into(&mut batch.checkpoint.node);
    batch
}

/// Another process has the lock by `lock`, and gives it up by `release`.
fn one_at_a_time(bench: &Bench, mut other: Session, lock: &str, release: &str) {
    bench.prepared(&[&sketches()]);
    other.ask(lock).expect("it is free");
    let url = format!("{}?statement_timeout=200ms", bench.url);
    let mut waiting = open(&url, Path::new("/")).unwrap();
    let outcome = waiting.deliver(&of("n1", 1));
    assert!(matches!(outcome, Err(SinkError::Unreachable { .. })), "{outcome:?}");
    assert_eq!(bench.query("SELECT COUNT(*) FROM t_sketches"), "0");
    // It is the lock of one node.
    let mut sink = bench.sink();
    sink.deliver(&of("n2", 1)).unwrap();
    other.ask(release).expect("it is ours");
    sink.deliver(&of("n1", 1)).unwrap();
    // A batch that is done leaves the lock to others.
    bench.sink().deliver(&of("n1", 2)).unwrap();
    sink.deliver(&of("n2", 2)).unwrap();
    assert_eq!(bench.query("SELECT COUNT(*) FROM t_sketches"), "2");
}

#[test]
fn mysql_lets_one_source_of_a_node_merge_sketches_at_a_time() {
    let bench = Bench::mysql();
    let session = MariaDb::shared().session(&bench.url);
    let name = "CONCAT('tidegate ', SHA1(CONCAT_WS(' ', DATABASE(), 't_sketches', 'n1')))";
    let (lock, release) =
        (format!("SELECT GET_LOCK({name}, 0)"), format!("SELECT RELEASE_LOCK({name})"));
    one_at_a_time(&bench, session, &lock, &release);
}

#[test]
fn postgres_lets_one_source_of_a_node_merge_sketches_at_a_time() {
    let bench = Bench::postgres();
    let session = Postgres::shared().session(&bench.url);
    let key = "hashtext('t_sketches'), hashtext('n1')";
    let (lock, release) =
        (format!("SELECT pg_advisory_lock({key})"), format!("SELECT pg_advisory_unlock({key})"));
    one_at_a_time(&bench, session, &lock, &release);
}
