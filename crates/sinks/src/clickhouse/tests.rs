//! The sink against a small server that forgets inserts by their tokens.
//!
//! ClickHouse does so since 22.3. A real but older ClickHouse takes plain inserts in `make
//! test-engines`.

mod answers;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use pipeline::{CellValue, Column, ColumnRole, Kind};
use serde_json::{Value, json};
use testkit::{Origin, OriginReply, OriginRequest};

use super::*;

/// What goes wrong with an insert.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// It is done, and nobody hears of it.
    LosesAnswer,
    /// It is not done.
    Fails,
}

#[derive(Default)]
struct State {
    tables: BTreeMap<String, Vec<Value>>,
    tokens: BTreeSet<String>,
    inserts: usize,
    /// Those that make or change tables.
    statements: Vec<String>,
    fault: Option<(usize, Fault)>,
}

impl State {
    fn answer(&mut self, request: &OriginRequest) -> OriginReply {
        let query = parameter(&request.target, "query").unwrap_or_default();
        if query.starts_with("SELECT count()") {
            return OriginReply::ok("{\"found\":1}\n");
        }
        if query.starts_with("CREATE") || query.starts_with("ALTER") {
            self.statements.push(query);
            return OriginReply::ok("");
        }
        if let Some(rest) = query.strip_prefix("INSERT INTO `") {
            let token = parameter(&request.target, "insert_deduplication_token");
            let table = rest.split('`').next().unwrap();
            return self.insert(table, &token.expect("every insert has a token"), &request.body);
        }
        let rows: Vec<&Value> = if query.contains(CHECKPOINTS) {
            self.of(CHECKPOINTS).max_by_key(|row| row["sequence"].as_u64()).into_iter().collect()
        } else {
            let sequence = query.split("sequence = ").nth(1).unwrap();
            let sequence: u64 = sequence.split(' ').next().unwrap().parse().unwrap();
            self.of(BATCHES).filter(|row| row["sequence"] == sequence).collect()
        };
        OriginReply::ok(rows.iter().map(|row| format!("{row}\n")).collect::<String>())
    }

    fn insert(&mut self, table: &str, token: &str, body: &[u8]) -> OriginReply {
        self.inserts += 1;
        let fault = self.fault.filter(|(nth, _)| *nth == self.inserts).map(|(_, fault)| fault);
        if fault == Some(Fault::Fails) {
            return OriginReply::status(500).body("Code: 241. DB::Exception: no memory");
        }
        if self.tokens.insert(format!("{table} {token}")) {
            let rows = body.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let rows = rows.map(|line| serde_json::from_slice(line).unwrap());
            self.tables.entry(table.to_owned()).or_default().extend(rows);
        }
        match fault {
            Some(_) => OriginReply::ok("").close_before_head(),
            None => OriginReply::ok(""),
        }
    }

    fn of(&self, table: &str) -> impl Iterator<Item = &Value> {
        self.tables.get(table).into_iter().flatten()
    }
}

fn parameter(target: &str, name: &str) -> Option<String> {
    let pairs = target.split_once('?')?.1.split('&');
    let value = pairs.filter_map(|pair| pair.split_once('=')).find(|(found, _)| *found == name)?.1;
    let value = value.replace('+', " ");
    Some(percent_encoding::percent_decode_str(&value).decode_utf8().unwrap().into_owned())
}

struct Fake {
    origin: Origin,
    state: Arc<Mutex<State>>,
}

impl Fake {
    fn start() -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let own = Arc::clone(&state);
        let origin =
            Origin::start(move |request: &OriginRequest| own.lock().unwrap().answer(request));
        Self { origin, state }
    }

    fn sink(&self) -> ClickHouseSink {
        let rest = format!("//u:p@{}/d", self.origin.address());
        ClickHouseSink::new(&rest, Path::new("/")).unwrap()
    }

    /// A sink as a pipeline begins with it, and what it then holds.
    fn begun(&self) -> (ClickHouseSink, Option<Checkpoint>) {
        let mut sink = self.sink();
        sink.prepare(&[table()]).unwrap();
        sink.claim("n", "web").unwrap();
        let stored = sink.checkpoints("web").unwrap().pop();
        (sink, stored)
    }

    fn sum(&self) -> i64 {
        let state = self.state.lock().unwrap();
        state.of("hits_deltas").map(|row| row["count"].as_i64().unwrap()).sum()
    }
}

fn column(name: &str, kind: Kind, role: ColumnRole) -> Column {
    Column { name: name.to_owned(), kind, role }
}

fn table() -> Arc<Table> {
    let path = column("path", Kind::Text, ColumnRole::Key);
    let columns = vec![path, column("count", Kind::Integer, ColumnRole::Sum)];
    Arc::new(Table { name: "hits".to_owned(), columns })
}

/// A batch whose position is the sum of all counts up to it.
fn batch(sequence: u64, count: i64, sum: i64) -> Batch {
    let mut rows = TableRows::new(table());
    rows.push(CellValue::Text(b"/a"));
    rows.push(CellValue::Integer(count));
    let (node, source) = ("n".to_owned(), "web".to_owned());
    let checkpoint = Checkpoint { node, source, sequence, position: sum.to_string() };
    Batch { checkpoint, rows: vec![rows] }
}

#[test]
fn a_batch_that_was_interrupted_anywhere_counts_once() {
    for fault in [Fault::LosesAnswer, Fault::Fails] {
        for nth in 1..=3 {
            let fake = Fake::start();
            let (mut sink, _) = fake.begun();
            fake.state.lock().unwrap().fault = Some((nth, fault));
            sink.deliver(&batch(1, 10, 10)).unwrap_err();
            drop(sink);
            // The log has grown meanwhile: the batch is another one, unless it is finished.
            let (mut sink, stored) = fake.begun();
            let stored = stored.unwrap_or_else(|| {
                sink.deliver(&batch(1, 13, 13)).unwrap();
                batch(1, 13, 13).checkpoint
            });
            let sum: i64 = stored.position.parse().unwrap();
            assert_eq!(fake.sum(), sum, "insert {nth}, {fault:?}");
            sink.deliver(&batch(2, 5, sum + 5)).unwrap();
            assert_eq!(fake.sum(), sum + 5, "insert {nth}, {fault:?}");
        }
    }
}

#[test]
fn of_two_writers_of_one_batch_the_first_is_applied() {
    let fake = Fake::start();
    let (mut first, _) = fake.begun();
    let (mut second, _) = fake.begun();
    fake.state.lock().unwrap().fault = Some((2, Fault::Fails));
    first.deliver(&batch(1, 10, 10)).unwrap_err();
    let fenced = second.deliver(&batch(1, 7, 7)).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 1, expected: 0, .. }), "{fenced}");
    assert_eq!(second.checkpoints("web").unwrap(), [batch(1, 10, 10).checkpoint]);
    assert_eq!(fake.sum(), 10);
}

#[test]
fn delivers_nothing_where_the_checkpoint_is_another_one() {
    let fake = Fake::start();
    let (mut sink, _) = fake.begun();
    let fenced = sink.deliver(&batch(2, 1, 1)).unwrap_err();
    assert!(matches!(fenced, SinkError::Fenced { stored: 0, expected: 1, .. }), "{fenced}");
    assert_eq!(fake.state.lock().unwrap().inserts, 0);
}

#[test]
fn refuses_a_server_without_tokens_unless_duplicates_are_no_harm() {
    let origin = Origin::start(|_: &OriginRequest| OriginReply::ok("{\"found\":0}\n"));
    let rest = format!("//u:p@{}/d", origin.address());
    let refused = ClickHouseSink::new(&rest, Path::new("/")).unwrap().prepare(&[]).unwrap_err();
    assert!(refused.to_string().contains("may count twice"), "{refused}");
    let rest = format!("{rest}?{LOOSE}");
    ClickHouseSink::new(&rest, Path::new("/")).unwrap().prepare(&[]).unwrap();
}

#[test]
fn a_view_divides_and_takes_the_last() {
    let table = Table {
        name: "t".to_owned(),
        columns: vec![
            column("k", Kind::Time, ColumnRole::Key),
            column("sum_x", Kind::Real, ColumnRole::Sum),
            column("count_x", Kind::Integer, ColumnRole::Sum),
            column("mean_x", Kind::Real, ColumnRole::Mean { sum: 1, count: 2 }),
            column("last_y_time", Kind::Time, ColumnRole::Max),
            column("last_y", Kind::Text, ColumnRole::Last { time: 4 }),
        ],
    };
    let abilities = Abilities::new(true, true);
    assert_eq!(
        abilities.create(&table),
        [
            "CREATE TABLE IF NOT EXISTS `t_deltas` (`k` DateTime64(6, 'UTC'), `sum_x` Float64, \
             `count_x` Int64, `last_y_time` Nullable(DateTime64(6, 'UTC')), \
             `last_y` Nullable(String)) ENGINE = MergeTree() ORDER BY (`k`) \
             SETTINGS non_replicated_deduplication_window = 10000",
            "CREATE VIEW IF NOT EXISTS `t` AS SELECT _0 AS `k`, _1 AS `sum_x`, _2 AS `count_x`, \
             _1 / nullIf(_2, 0) AS `mean_x`, _4 AS `last_y_time`, _5 AS `last_y` FROM \
             (SELECT `k` AS _0, sum(`sum_x`) AS _1, sum(`count_x`) AS _2, \
             max(`last_y_time`) AS _4, argMax(`last_y`, `last_y_time`) AS _5 FROM `t_deltas` \
             GROUP BY `k`)",
        ]
    );
    let mut out = Vec::new();
    abilities.time()(1_700_000_000_500_000, &mut out);
    Abilities::new(false, false).time()(1_700_000_000_500_000, &mut out);
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out, "\"2023-11-14 22:13:20.500000\"\"2023-11-14 22:13:20\"");
    assert_eq!(json!(schema::literal("a'b\\")), json!("'a\\'b\\\\'"));
}
