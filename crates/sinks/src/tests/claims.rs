//! What holds for every SQL engine.

use super::*;

use metrics::{Quantiles, Uniques};
use pipeline::SinkError;

macro_rules! claims {
    ($($engine:ident: [$($claim:ident)*];)*) => {$(
        mod $engine {
            $(#[test]
            fn $claim() {
                super::$claim(&crate::tests::Bench::$engine());
            })*
        }
    )*};
}

claims! {
    sqlite: [
        merges_every_role advances_one_of_two_writers shows_the_checkpoints_of_every_node
        commits_nothing_of_a_batch_that_is_refused keeps_rows_of_a_table_without_keys
        takes_a_hundred_thousand_rows merges_sketches quotes_names_that_sql_knows
        numbers_stand_beside_their_sketches older_tables_of_sketches_get_numbers
    ];
    postgres: [
        merges_every_role advances_one_of_two_writers shows_the_checkpoints_of_every_node
        commits_nothing_of_a_batch_that_is_refused keeps_rows_of_a_table_without_keys
        takes_a_hundred_thousand_rows merges_sketches quotes_names_that_sql_knows
        numbers_stand_beside_their_sketches older_tables_of_sketches_get_numbers
        takes_what_logs_hold stops_sums_at_the_largest_number tells_long_keys_apart
        delivers_the_same_keys_from_many_nodes_at_once keeps_spaces_and_case_in_keys
    ];
    mysql: [
        merges_every_role advances_one_of_two_writers shows_the_checkpoints_of_every_node
        commits_nothing_of_a_batch_that_is_refused keeps_rows_of_a_table_without_keys
        takes_a_hundred_thousand_rows merges_sketches quotes_names_that_sql_knows
        numbers_stand_beside_their_sketches older_tables_of_sketches_get_numbers
        takes_what_logs_hold stops_sums_at_the_largest_number tells_long_keys_apart
        delivers_the_same_keys_from_many_nodes_at_once keeps_spaces_and_case_in_keys
    ];
}

fn every_role() -> Arc<Table> {
    Arc::new(Table {
        name: "reads".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("status", Kind::Integer, ColumnRole::Key),
            column("count", Kind::Integer, ColumnRole::Sum),
            column("sum_x", Kind::Real, ColumnRole::Sum),
            column("min_x", Kind::Integer, ColumnRole::Min),
            column("max_x", Kind::Real, ColumnRole::Max),
            column("last_user_time", Kind::Time, ColumnRole::Max),
            column("last_user", Kind::Text, ColumnRole::Last { time: 6 }),
            column("mean_x", Kind::Real, ColumnRole::Mean { sum: 3, count: 2 }),
        ],
    })
}

fn merges_every_role(bench: &Bench) {
    let table = every_role();
    let row = |status, sum, min, max, time, user| {
        let (path, mean) = (CellValue::Text(b"/a"), CellValue::Absent);
        [path, CellValue::Integer(status), CellValue::Integer(2), sum, min, max, time, user, mean]
    };
    let nothing = CellValue::Absent;
    let (int, real, time) =
        (CellValue::Integer, CellValue::Real, |s: i64| CellValue::Time(TIME + s * 1_000_000));
    let (anna, bert, carl) =
        (CellValue::Text(b"anna"), CellValue::Text(b"bert"), CellValue::Text(b"carl"));
    let mut sink = bench.prepared(&[&table]);
    let first = [
        row(1, real(1.5), int(5), real(7.0), time(10), anna),
        row(2, real(1.0), nothing, nothing, nothing, nothing),
        row(3, nothing, int(1), real(1.0), time(5), anna),
    ];
    let second = [
        row(1, real(2.5), int(4), real(7.5), time(9), bert),
        row(2, real(1.0), int(3), real(2.0), time(1), bert),
        row(3, real(4.0), int(2), nothing, time(5), carl),
    ];
    let as_rows = |cells: &[[CellValue<'_>; 9]]| {
        rows(&table, &cells.iter().map(|row| row.as_slice()).collect::<Vec<_>>())
    };
    sink.deliver(&batch(1, as_rows(&first))).unwrap();
    sink.deliver(&batch(2, as_rows(&second))).unwrap();
    let found = bench.query(
        "SELECT status, count, sum_x, min_x, max_x, last_user, mean_x FROM \"reads\" \
         ORDER BY status",
    );
    assert_eq!(found, "1|4|4|4|7.5|anna|1\n2|4|2|3|2|bert|0.5\n3|4|4|1|1|carl|1");
    let times = bench.query("SELECT last_user_time FROM \"reads\" WHERE status = 1");
    assert!(times.replace('T', " ").starts_with("2026-11-21 09:48:10"), "{times}");
}

fn advances_one_of_two_writers(bench: &Bench) {
    let table = counts();
    let mut sinks = [bench.prepared(&[&table]), bench.prepared(&[&table])];
    for sequence in 1..=10 {
        let outcomes = std::thread::scope(|scope| {
            let threads = sinks
                .each_mut()
                .map(|sink| scope.spawn(move || sink.deliver(&batch(sequence, one("/a", 1)))));
            threads.map(|thread| thread.join().unwrap())
        });
        let fenced = outcomes.iter().filter(|outcome| match outcome {
            Err(SinkError::Fenced { source_name, stored, expected }) => {
                assert_eq!(
                    (source_name.as_str(), *stored, *expected),
                    ("web", sequence, sequence - 1)
                );
                true
            }
            Err(error) => panic!("{error}"),
            Ok(()) => false,
        });
        assert_eq!(fenced.count(), 1);
    }
    assert_eq!(bench.query("SELECT count FROM counts"), "10");
    assert_eq!(sinks[0].checkpoints("web").unwrap(), [checkpoint(10)]);
}

fn shows_the_checkpoints_of_every_node(bench: &Bench) {
    let mut sink = bench.prepared(&[&counts()]);
    assert_eq!(sink.checkpoints("web").unwrap(), []);
    for (node, source) in [("n1", "web"), ("n2", "web"), ("n1", "other")] {
        let mut batch = batch(1, one("/a", 1));
        batch.checkpoint.node = node.to_owned();
        batch.checkpoint.source = source.to_owned();
        sink.deliver(&batch).unwrap();
    }
    let mut stored = sink.checkpoints("web").unwrap();
    stored.sort_by(|one, other| one.node.cmp(&other.node));
    let other = Checkpoint { node: "n2".to_owned(), ..checkpoint(1) };
    assert_eq!(stored, [checkpoint(1), other]);
}

fn commits_nothing_of_a_batch_that_is_refused(bench: &Bench) {
    let absent = Arc::new(Table { name: "absent".to_owned(), ..(*counts()).clone() });
    let mut sink = bench.prepared(&[&counts()]);
    let mut two = batch(1, one("/a", 1));
    let row: &[CellValue<'_>] =
        &[CellValue::Text(b"/a"), CellValue::Time(TIME), CellValue::Integer(1)];
    two.rows.push(rows(&absent, &[row]));
    let error = sink.deliver(&two).unwrap_err();
    assert!(matches!(error, SinkError::Refused { .. }), "{error}");
    assert!(error.to_string().contains("absent"), "{error}");
    assert_eq!(bench.query("SELECT COUNT(*) FROM counts"), "0");
    assert_eq!(sink.checkpoints("web").unwrap(), []);
    sink.prepare(&[counts(), absent]).unwrap();
    sink.deliver(&two).unwrap();
    assert_eq!(bench.query("SELECT count FROM absent"), "1");
}

fn keeps_rows_of_a_table_without_keys(bench: &Bench) {
    let table = Arc::new(Table {
        name: "raw".to_owned(),
        columns: vec![
            column("time", Kind::Time, ColumnRole::Plain),
            column("user", Kind::Text, ColumnRole::Plain),
            column("bytes", Kind::Blob, ColumnRole::Plain),
        ],
    });
    let mut sink = bench.prepared(&[&table]);
    let row: &[CellValue<'_>] =
        &[CellValue::Time(TIME + 250_000), CellValue::Text(b"anna"), CellValue::Blob(b"hi")];
    sink.deliver(&batch(1, rows(&table, &[row, row]))).unwrap();
    assert_eq!(bench.query("SELECT COUNT(*), MIN(\"user\") FROM raw"), "2|anna");
    let time = bench.query("SELECT MIN(time) FROM raw");
    assert!(time.replace('T', " ").starts_with("2026-11-21 09:48:00.25"), "{time}");
}

fn takes_a_hundred_thousand_rows(bench: &Bench) {
    let table = counts();
    let mut sink = bench.prepared(&[&table]);
    for sequence in 1..=2 {
        let mut rows = TableRows::new(Arc::clone(&table));
        for at in 0..100_000_i64 {
            // Scattered, as a hash table gives them.
            let path = format!("/articles/{}", at * 7919 % 100_000);
            rows.push(CellValue::Text(path.as_bytes()));
            rows.push(CellValue::Time(TIME));
            rows.push(CellValue::Integer(at));
        }
        sink.deliver(&batch(sequence, rows)).unwrap();
    }
    assert_eq!(bench.query("SELECT COUNT(*), SUM(count) FROM counts"), "100000|9999900000");
}

fn quotes_names_that_sql_knows(bench: &Bench) {
    let table = Arc::new(Table {
        name: "Order".to_owned(),
        columns: vec![
            column("Group", Kind::Text, ColumnRole::Key),
            column("select", Kind::Integer, ColumnRole::Sum),
        ],
    });
    let mut sink = bench.prepared(&[&table]);
    for sequence in 1..=2 {
        let row: &[CellValue<'_>] = &[CellValue::Text(b"a"), CellValue::Integer(3)];
        sink.deliver(&batch(sequence, rows(&table, &[row]))).unwrap();
    }
    assert_eq!(bench.query("SELECT \"Group\", \"select\" FROM \"Order\""), "a|6");
}

fn takes_what_logs_hold(bench: &Bench) {
    let table = Arc::new(Table {
        name: "odd".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("max_n", Kind::Integer, ColumnRole::Max),
            column("sum_x", Kind::Real, ColumnRole::Sum),
            column("last_time", Kind::Time, ColumnRole::Max),
            column("last_user", Kind::Text, ColumnRole::Last { time: 3 }),
        ],
    });
    let long = "u".repeat(300_000);
    let mut sink = bench.prepared(&[&table]);
    let rows = rows(
        &table,
        &[
            // Two that become one key, the later one first.
            &[
                CellValue::Text(b"/\xff"),
                CellValue::Integer(i64::MAX),
                CellValue::Real(1.0),
                CellValue::Time(TIME + 1),
                CellValue::Text(b"nul\0"),
            ],
            &[
                CellValue::Text(b"/\xfe"),
                CellValue::Integer(i64::MIN),
                CellValue::Real(2.0),
                CellValue::Time(TIME),
                CellValue::Text(b"early"),
            ],
            &[
                CellValue::Text("/\u{1F600}'\\\";--".as_bytes()),
                CellValue::Integer(i64::MIN),
                CellValue::Real(f64::NAN),
                CellValue::Time(i64::MAX),
                CellValue::Text(long.as_bytes()),
            ],
            &[
                CellValue::Absent,
                CellValue::Absent,
                CellValue::Real(f64::NEG_INFINITY),
                CellValue::Time(i64::MIN),
                CellValue::Absent,
            ],
        ],
    );
    sink.deliver(&batch(1, rows)).unwrap();
    let found = bench.query(
        "SELECT path, max_n, sum_x, SUBSTR(last_user, 1, 4), CHAR_LENGTH(last_user) \
         FROM odd ORDER BY path",
    );
    let expected = "|NULL|-1e+300|NULL|NULL\n\
                    /\u{fffd}|9223372036854775807|3|nul\u{fffd}|4\n\
                    /\u{1F600}'\\\";--|-9223372036854775808|NULL|uuuu|300000";
    assert_eq!(found.replace("\\\\", "\\").replace("-1e300", "-1e+300"), expected);
}

fn stops_sums_at_the_largest_number(bench: &Bench) {
    let table = Arc::new(Table {
        name: "sums".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("sum_n", Kind::Integer, ColumnRole::Sum),
            column("sum_x", Kind::Real, ColumnRole::Sum),
        ],
    });
    let mut sink = bench.prepared(&[&table]);
    for sequence in 1..=3 {
        let up: &[CellValue<'_>] =
            &[CellValue::Text(b"up"), CellValue::Integer(i64::MAX), CellValue::Real(1e308)];
        let down: &[CellValue<'_>] =
            &[CellValue::Text(b"down"), CellValue::Integer(i64::MIN), CellValue::Real(-1e308)];
        sink.deliver(&batch(sequence, rows(&table, &[up, down]))).unwrap();
    }
    let found = bench.query("SELECT sum_n, sum_x FROM sums ORDER BY path").replace("e+", "e");
    assert_eq!(found, "-4611686018427387903|-1e300\n4611686018427387903|1e300");
}

fn tells_long_keys_apart(bench: &Bench) {
    let mut sink = bench.prepared(&[&counts()]);
    let path = |end: char| format!("/{}{end}", "é".repeat(5000));
    let row = |path: &str| one(path, 1);
    for (sequence, end) in [(1, 'a'), (2, 'b'), (3, 'a')] {
        sink.deliver(&batch(sequence, row(&path(end)))).unwrap();
    }
    assert_eq!(bench.query("SELECT count FROM counts ORDER BY count"), "1\n2");
    let found = bench.query("SELECT path FROM counts WHERE count = 2");
    let (beginning, hash) = found.split_once('~').unwrap();
    assert!(path('a').starts_with(beginning) && beginning.len() > 1000, "{found}");
    assert_eq!(hash.len(), 32);
}

fn delivers_the_same_keys_from_many_nodes_at_once(bench: &Bench) {
    let table = counts();
    let deliver = |node: i64| {
        let mut sink = bench.prepared(&[&table]);
        for sequence in 1..=5 {
            let mut rows = TableRows::new(Arc::clone(&table));
            for at in 0..300 {
                // In another order from each node.
                let at = if node % 2 == 0 { at } else { 299 - at };
                rows.push(CellValue::Text(format!("/{at}").as_bytes()));
                rows.push(CellValue::Time(TIME));
                rows.push(CellValue::Integer(1));
            }
            let mut batch = batch(sequence, rows);
            batch.checkpoint.node = format!("n{node}");
            sink.deliver(&batch).unwrap();
        }
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|node| drop(scope.spawn(move || deliver(node))));
    });
    assert_eq!(bench.query("SELECT COUNT(*), MIN(count), MAX(count) FROM counts"), "300|20|20");
}

fn keeps_spaces_and_case_in_keys(bench: &Bench) {
    let mut sink = bench.prepared(&[&counts()]);
    let paths = ["/a", "/A", "/a ", "/ä", "/a\u{308}", ""];
    for (sequence, path) in (1..).zip(paths) {
        sink.deliver(&batch(sequence, one(path, 1))).unwrap();
    }
    assert_eq!(bench.query("SELECT COUNT(*), SUM(count) FROM counts"), "6|6");
}

fn merges_sketches(bench: &Bench) {
    let table = Arc::new(Table {
        name: "t_sketches".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("minute", Kind::Time, ColumnRole::Key),
            column("status", Kind::Integer, ColumnRole::Key),
            column("unique_user", Kind::Blob, ColumnRole::Sketch),
            column("unique_host", Kind::Blob, ColumnRole::Sketch),
        ],
    });
    let sketch = |values: std::ops::Range<u32>| {
        let mut sketch = Uniques::default();
        values.for_each(|value| sketch.add(&value.to_le_bytes()));
        let mut bytes = Vec::new();
        sketch.encode(&mut bytes);
        bytes
    };
    let (a, b, c) = (sketch(0..10), sketch(5..3_000), sketch(0..3));
    let row = |path, user, host| [path, CellValue::Time(TIME), CellValue::Integer(200), user, host];
    let (blob, nothing) = (CellValue::Blob, CellValue::Absent);
    let [x, y] = [CellValue::Text(b"/x"), CellValue::Text(b"/y")];
    let mut sink = bench.prepared(&[&table]);
    let batches = [
        vec![row(y, blob(&a), nothing)],
        vec![row(x, blob(&a), blob(&a)), row(y, blob(&b), blob(&c))],
        vec![row(y, nothing, nothing)],
    ];
    for (sequence, cells) in (1..).zip(&batches) {
        let cells: Vec<&[CellValue<'_>]> = cells.iter().map(|row| row.as_slice()).collect();
        sink.deliver(&batch(sequence, rows(&table, &cells))).unwrap();
    }
    let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02X}")).collect() };
    let shown = match bench.url.starts_with("postgres") {
        true => |name: &str| format!("UPPER(ENCODE({name}, 'hex'))"),
        false => |name: &str| format!("HEX({name})"),
    };
    let [user, host] = ["unique_user", "unique_host"].map(shown);
    let found = bench.query(&format!("SELECT path, {user}, {host} FROM t_sketches ORDER BY path"));
    let (all, a, c) = (hex(&sketch(0..3_000)), hex(&a), hex(&c));
    assert_eq!(found, format!("/x|{a}|{a}\n/y|{all}|{c}"));
}

/// `path` and node → the users and the times of a request.
fn sketched() -> Arc<Table> {
    Arc::new(Table {
        name: "s_sketches".to_owned(),
        columns: vec![
            column("path", Kind::Text, ColumnRole::Key),
            column("node", Kind::Text, ColumnRole::Key),
            column("unique_user", Kind::Blob, ColumnRole::Sketch),
            column("quantiles_total", Kind::Blob, ColumnRole::Sketch),
        ],
    })
}

/// A batch of one row, which has seen these numbers as users and as times.
fn seen(sequence: u64, path: &str, numbers: std::ops::Range<u32>) -> Batch {
    let (mut users, mut times) = (Uniques::default(), Quantiles::default());
    for number in numbers {
        users.add(&number.to_le_bytes());
        times.add(f64::from(number));
    }
    let (mut user, mut total) = (Vec::new(), Vec::new());
    users.encode(&mut user);
    times.encode(&mut total);
    let absent_or = |bytes| if times.is_empty() { CellValue::Absent } else { bytes };
    let [path, node] = [path, "n1"].map(|text| CellValue::Text(text.as_bytes()));
    let cells = [path, node, CellValue::Blob(&user), absent_or(CellValue::Blob(&total))];
    batch(sequence, rows(&sketched(), &[&cells]))
}

const NUMBERS: &str = "SELECT path, unique_user_count, p50_total, p90_total, p99_total \
                       FROM s_sketches ORDER BY path";

/// A line of [`NUMBERS`] for a row that has seen these.
fn numbers(path: &str, seen: std::ops::Range<u32>) -> String {
    let mut times = Quantiles::default();
    seen.clone().for_each(|number| times.add(f64::from(number)));
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|q| times.quantile(q).unwrap());
    format!("{path}|{}|{p50}|{p90}|{p99}", seen.len())
}

fn numbers_stand_beside_their_sketches(bench: &Bench) {
    let mut sink = bench.prepared(&[&sketched()]);
    sink.deliver(&seen(1, "/a", 0..60)).unwrap();
    sink.deliver(&seen(2, "/a", 60..500)).unwrap();
    sink.deliver(&seen(3, "/b", 7..8)).unwrap();
    // Nobody and nothing: the row keeps what it has.
    sink.deliver(&seen(4, "/b", 0..0)).unwrap();
    let expected = [numbers("/a", 0..500), numbers("/b", 7..8)].join("\n");
    assert_eq!(bench.query(NUMBERS), expected);
}

fn older_tables_of_sketches_get_numbers(bench: &Bench) {
    let mut sink = bench.prepared(&[&sketched()]);
    sink.deliver(&seen(1, "/a", 0..60)).unwrap();
    sink.deliver(&seen(2, "/b", 0..60)).unwrap();
    for name in ["unique_user_count", "p50_total", "p90_total", "p99_total"] {
        bench.query(&format!("ALTER TABLE s_sketches DROP COLUMN {name}"));
    }
    let mut sink = bench.prepared(&[&sketched()]);
    let next = seen(3, "/a", 60..500);
    sink.deliver(&next).unwrap();
    assert!(matches!(sink.deliver(&next), Err(SinkError::Fenced { .. })));
    let expected = [numbers("/a", 0..500), "/b|NULL|NULL|NULL|NULL".to_owned()].join("\n");
    assert_eq!(bench.query(NUMBERS), expected);
    // The sketch was not touched, so the next line brings its numbers, too.
    sink.deliver(&seen(4, "/b", 60..61)).unwrap();
    let expected = [numbers("/a", 0..500), numbers("/b", 0..61)].join("\n");
    assert_eq!(bench.query(NUMBERS), expected);
}
