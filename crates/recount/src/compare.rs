//! Compares the rows that a sink holds with a rollup as it was counted.
//!
//! Rows of aggregates, of sketches and of single events are compared each in its way. Where other
//! machines fill the tables too, aggregates are passed over. Of sketches and single events only
//! rows of this machine are compared then.
//! Invariant: each row is held against at most one count. A count that no row has met is a
//! difference, unless it was passed over. Of all differences the first in the order of keys is put
//! into words. The words stand in docs/operating/verify-and-replay.md and
//! `tidegate/tests/it/events_verify.rs`, too.
//! A key that `sinks/src/sanitise.rs` has cut to `~` and a hash is known again if it had more than
//! 100 bytes. A shorter one counts as different. `shortened` computes the same hash, so both change
//! together.
//! The order of cells is that of `pipeline`. A sketch row has its node after the key. A single
//! event begins with the columns of `PLACE` in `pipeline/src/rollup.rs`; the third, the file, is
//! not compared.
//! Elsewhere: what a cell should be (`expected.rs`), sketches (`sketch.rs`), words (`shown.rs`).

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;

use sha2::{Digest, Sha256};
use sinks::{OwnedCell, ReadBack, ReadBackError, ReadBackQuery, read_back};

use crate::count::{CellKey, LinePlace, RollupCount, SketchValues, hash, key_of};
use crate::expected::expected;
use crate::shown::{shown_cell, shown_key};
use crate::sketch::same_sketch;

/// What came of comparing a rollup.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Rows that the log or the sink has. What a row has in two tables is one.
    pub rows: u64,
    /// How many of them differ.
    pub different: u64,
    /// Rows that were passed over, since several machines add to them.
    pub shared: u64,
    first: Option<(Vec<CellKey>, String)>,
    /// Keys that only the sink has.
    only_in_sink: HashSet<Vec<CellKey>>,
}

impl Comparison {
    /// The first difference in the order of keys, in words.
    pub(crate) fn first(&self) -> Option<&str> {
        self.first.as_ref().map(|(_, words)| words.as_str())
    }

    /// Notes a row that differs; `is_known` says that it was counted before.
    fn differs(&mut self, is_known: bool, key: Vec<CellKey>, words: impl FnOnce() -> String) {
        self.different += u64::from(!is_known);
        if self.first.as_ref().is_none_or(|(first, _)| key < *first) {
            self.first = Some((key, words()));
        }
    }

    /// Notes a row that the log has not. One of sketches under the same key is the same.
    fn is_only_in_sink(&mut self, key: Vec<CellKey>, words: String) {
        let is_new = self.only_in_sink.insert(key.clone());
        self.rows += u64::from(is_new);
        self.differs(!is_new, key, || words);
    }
}

/// Whose log is compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Machine<'m> {
    pub node: &'m str,
    /// Other machines fill the tables too: only what carries the name of this one is compared.
    pub is_shared: bool,
}

/// Compares a count with the sink at `url`; `place` says in words where a line stands.
///
/// # Errors
/// When the sink cannot be read.
pub(crate) fn compare(
    count: &mut RollupCount,
    url: &str,
    machine: Machine<'_>,
    place: &dyn Fn(LinePlace) -> String,
) -> Result<Comparison, ReadBackError> {
    let tables: Vec<_> = count.rollup.tables().cloned().collect();
    let mut compared = Comparison::default();
    let shortened = shortened(count);
    let node = OwnedCell::Text(machine.node.as_bytes().to_vec());
    let is_shared = machine.is_shared;
    let mut side = Comparer { count, compared: &mut compared, shortened, place, node, is_shared };
    let wanted = ReadBackQuery { tables: &tables, since: None, until: None };
    read_back(url, Path::new(""), wanted, &mut |got| {
        match got {
            ReadBack::Row(0, cells) if side.count.rollup.raw.is_empty() => side.row(cells),
            ReadBack::Row(0, cells) => side.event(cells),
            ReadBack::Row(_, cells) => side.sketches(cells),
            ReadBack::Checkpoint(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    side.missing();
    Ok(compared)
}

/// Keys of the log that an engine cuts, by the hash that it keeps of them.
fn shortened(count: &RollupCount) -> HashMap<String, String> {
    let texts = count.rows.keys().flatten().filter_map(|key| match key {
        CellKey::Text(text) if text.len() > 100 => Some(text.clone()),
        _ => None,
    });
    let digits = |text: &String| -> String {
        Sha256::digest(text.as_bytes())[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    };
    texts.map(|text| (digits(&text), text)).collect()
}

struct Comparer<'s> {
    count: &'s mut RollupCount,
    compared: &'s mut Comparison,
    shortened: HashMap<String, String>,
    place: &'s dyn Fn(LinePlace) -> String,
    node: OwnedCell,
    is_shared: bool,
}

impl Comparer<'_> {
    /// A row of aggregates.
    fn row(&mut self, cells: &[OwnedCell]) {
        if self.is_shared {
            self.compared.shared += 1;
            return;
        }
        let table = self.count.rollup.table.clone();
        let (key, cells) = self.key(cells, table.keys());
        let (keys, columns) = table.columns.split_at(table.keys());
        let shown = || shown_key(keys, &key);
        let Some(row) = self.count.rows.get_mut(&key) else {
            let words = format!("{}: the log has no line of it", shown());
            return self.compared.is_only_in_sink(key, words);
        };
        row.is_met = true;
        let pairs = columns.iter().zip(cells).zip(&row.kept);
        let wrong = pairs.filter_map(|((column, stored), kept)| {
            let wanted = expected(column, kept, row, table.keys());
            (!wanted.is(stored)).then(|| (column, wanted.to_string(), stored))
        });
        if let Some((column, wanted, stored)) = wrong.into_iter().next() {
            let first = (self.place)(row.first);
            let (column, stored) = (&column.name, shown_cell(stored));
            let words = format!(
                "{}: `{column}` should be {wanted} and is {stored}; its first line is {first}",
                shown()
            );
            let is_known = std::mem::replace(&mut row.differs, true);
            self.compared.differs(is_known, key.clone(), || words);
        }
    }

    /// A row of sketches.
    fn sketches(&mut self, cells: &[OwnedCell]) {
        let rollup = self.count.rollup.clone();
        let keys = rollup.key.len();
        let (key, cells) = self.key(cells, keys);
        if self.is_shared && cells[0] != self.node {
            return;
        }
        let Some(table) = &rollup.sketch_table else { return };
        let shown = || shown_key(&table.columns[..keys], &key);
        let Some(row) = self.count.rows.get_mut(&key) else {
            let words = format!("{}: the log has no line of the sketch", shown());
            return self.compared.is_only_in_sink(key, words);
        };
        // The cell after the key is the node.
        let columns = table.columns[keys + 1..].iter().zip(&cells[1..]);
        let mut wrong = None;
        for ((column, stored), values) in columns.zip(&mut row.values) {
            if let (Err(reason), None) = (same_sketch(values, stored), &wrong) {
                wrong = Some(format!("`{}` {reason}", column.name));
            }
            *values = SketchValues::Unique(Default::default());
        }
        if let Some(reason) = wrong {
            let first = (self.place)(row.first);
            let words = || format!("{}: {reason}; its first line is {first}", shown());
            let is_known = std::mem::replace(&mut row.differs, true);
            self.compared.differs(is_known, key.clone(), words);
        }
    }

    /// A row of a single event: node, source, file, offset, and fields.
    fn event(&mut self, cells: &[OwnedCell]) {
        if self.is_shared && cells[0] != self.node {
            return;
        }
        let key: Vec<CellKey> = cells
            .iter()
            .enumerate()
            .filter(|(at, _)| *at != 2)
            .map(|(_, cell)| key_of(cell))
            .collect();
        match self.count.events.get_mut(&hash(&key)) {
            Some((left, _)) if *left > 0 => {
                *left -= 1;
                self.compared.rows += 1;
            }
            _ => {
                let columns = &self.count.rollup.table.columns;
                let all: Vec<String> = columns
                    .iter()
                    .zip(cells)
                    .map(|(column, stored)| format!("{} {}", column.name, shown_cell(stored)))
                    .collect();
                let words = || format!("({}): the log has no such line", all.join(", "));
                self.compared.rows += 1;
                self.compared.differs(false, vec![key[2].clone()], words);
            }
        }
    }

    /// What the log has and the sink has not.
    fn missing(&mut self) {
        let Self { count, compared, place, is_shared, .. } = self;
        let table = count.rollup.table.clone();
        compared.rows += count.rows.len() as u64;
        for (key, row) in &count.rows {
            let shown = || shown_key(&table.columns[..table.keys()], key);
            let first = || place(row.first);
            let is_sketched = row.values.iter().all(SketchValues::is_empty);
            if !row.is_met && !*is_shared {
                let words = || {
                    format!("{}: the sink has no row of it; its first line is {}", shown(), first())
                };
                compared.differs(row.differs, key.clone(), words);
            } else if !is_sketched {
                let words = || {
                    format!(
                        "{}: the sink has no sketch of it; its first line is {}",
                        shown(),
                        first()
                    )
                };
                compared.differs(row.differs, key.clone(), words);
            }
        }
        for (left, at) in count.events.values().filter(|(left, _)| *left > 0) {
            compared.rows += left;
            let words = || format!("the line {}: the sink has no row of it", place(*at));
            compared.differs(false, vec![CellKey::Integer(at.offset.cast_signed())], words);
        }
    }

    /// The key of a row as the log has it, and the other cells.
    fn key<'c>(&self, cells: &'c [OwnedCell], keys: usize) -> (Vec<CellKey>, &'c [OwnedCell]) {
        let (key, cells) = cells.split_at(keys);
        let whole = |stored: &OwnedCell| match key_of(stored) {
            CellKey::Text(text) => {
                let cut = text.rsplit_once('~').and_then(|(beginning, digits)| {
                    self.shortened.get(digits).filter(|whole| whole.starts_with(beginning))
                });
                CellKey::Text(cut.unwrap_or(&text).clone())
            }
            other => other,
        };
        (key.iter().map(whole).collect(), cells)
    }
}
