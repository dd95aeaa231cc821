//! What a sink holds against what its log says: the first row and column that differ.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use metrics::{Quantiles, Uniques};
use pipeline::{Column, Role};
use sha2::{Digest, Sha256};
use sinks::{OwnedCell, ReadBack, ReadBackError, ReadBackQuery, read_back};

use super::count::{Count, Kept, Key, Latest, Place, Row, Values, hash, key_of, real_of};

/// Sums of real numbers that differ by less, of the size of what was added, were added in another
/// order.
const TOLERANCE: f64 = 1e-9;
/// Where PostgreSQL and MariaDB stop adding up.
const SUM_MAX: (i128, f64) = ((i64::MAX / 2) as i128, 1e300);
/// How far the number of different values may be off: five standard errors of HyperLogLog with
/// 2^14 registers (1.04/√2^14 each).
const UNIQUE_ERROR: f64 = 5.0 * 1.04 / 128.0;
/// How far quantiles may be off.
const QUANTILE_ERROR: f64 = 0.0101;
const QUANTILES: [f64; 5] = [0.0, 0.5, 0.9, 0.99, 1.0];
/// Text that is shown.
const SHOWN_CHARACTERS: usize = 120;

/// What came of comparing a rollup.
#[derive(Debug, Default)]
pub(super) struct Compared {
    /// Rows that the log has.
    pub rows: u64,
    /// Rows of either side that differ.
    pub different: u64,
    /// Rows that were passed over, since several machines add to them.
    pub shared: u64,
    first: Option<(Vec<Key>, String)>,
}

impl Compared {
    /// The first difference in the order of keys, in words.
    pub(super) fn first(&self) -> Option<&str> {
        self.first.as_ref().map(|(_, words)| words.as_str())
    }

    fn differs(&mut self, key: Vec<Key>, words: impl FnOnce() -> String) {
        self.different += 1;
        if self.first.as_ref().is_none_or(|(first, _)| key < *first) {
            self.first = Some((key, words()));
        }
    }
}

/// Compares a count with the sink at `url`; `place` says in words where a line stands. Where other
/// machines than `node` fill the table too (`is_shared`), only what has its name is compared.
///
/// # Errors
/// When the sink cannot be read.
pub(super) fn compare(
    count: &mut Count,
    url: &str,
    (node, is_shared): (&str, bool),
    place: &dyn Fn(Place) -> String,
) -> Result<Compared, ReadBackError> {
    let tables: Vec<_> = count.rollup.tables().cloned().collect();
    let mut compared = Compared::default();
    let shortened = shortened(count);
    let node = OwnedCell::Text(node.as_bytes().to_vec());
    let mut side = Side { count, compared: &mut compared, shortened, place, node, is_shared };
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
fn shortened(count: &Count) -> HashMap<String, String> {
    let texts = count.rows.keys().flatten().filter_map(|key| match key {
        Key::Text(text) if text.len() > 100 => Some(text.clone()),
        _ => None,
    });
    let digits = |text: &String| -> String {
        Sha256::digest(text.as_bytes())[..16].iter().map(|byte| format!("{byte:02x}")).collect()
    };
    texts.map(|text| (digits(&text), text)).collect()
}

struct Side<'s> {
    count: &'s mut Count,
    compared: &'s mut Compared,
    shortened: HashMap<String, String>,
    place: &'s dyn Fn(Place) -> String,
    node: OwnedCell,
    is_shared: bool,
}

impl Side<'_> {
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
            let words = || format!("{}: the log has no line of it", shown());
            return self.compared.differs(key.clone(), words);
        };
        row.is_met = true;
        let pairs = columns.iter().zip(cells).zip(&row.kept);
        let wrong = pairs.filter_map(|((column, held), kept)| {
            let wanted = wanted(column, kept, row, table.keys());
            (!wanted.is(held)).then(|| (column, wanted.to_string(), held))
        });
        if let Some((column, wanted, held)) = wrong.into_iter().next() {
            let first = (self.place)(row.first);
            let (column, held) = (&column.name, shown_held(held));
            let words = format!(
                "{}: `{column}` should be {wanted} and is {held}; its first line is {first}",
                shown()
            );
            self.compared.differs(key.clone(), || words);
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
            let words = || format!("{}: the log has no line of the sketch", shown());
            return self.compared.differs(key.clone(), words);
        };
        // The cell after the key is the node.
        let columns = table.columns[keys + 1..].iter().zip(&cells[1..]);
        let mut wrong = None;
        for ((column, held), values) in columns.zip(&mut row.values) {
            if let (Err(why), None) = (same_sketch(values, held), &wrong) {
                wrong = Some(format!("`{}` {why}", column.name));
            }
            *values = Values::Unique(Default::default());
        }
        if let Some(why) = wrong {
            let first = (self.place)(row.first);
            let words = || format!("{}: {why}; its first line is {first}", shown());
            self.compared.differs(key.clone(), words);
        }
    }

    /// A row of a single event: node, source, file, offset, and fields.
    fn event(&mut self, cells: &[OwnedCell]) {
        if self.is_shared && cells[0] != self.node {
            return;
        }
        let key: Vec<Key> = cells
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
                    .map(|(column, held)| format!("{} {}", column.name, shown_held(held)))
                    .collect();
                let words = || format!("({}): the log has no such line", all.join(", "));
                self.compared.differs(vec![key[2].clone()], words);
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
            let is_sketched = row.values.iter().all(Values::is_empty);
            if !row.is_met && !*is_shared {
                let words = || {
                    format!("{}: the sink has no row of it; its first line is {}", shown(), first())
                };
                compared.differs(key.clone(), words);
            } else if !is_sketched {
                let words = || {
                    format!(
                        "{}: the sink has no sketch of it; its first line is {}",
                        shown(),
                        first()
                    )
                };
                compared.differs(key.clone(), words);
            }
        }
        for (left, at) in count.events.values().filter(|(left, _)| *left > 0) {
            compared.rows += left;
            let words = || format!("the line {}: the sink has no row of it", place(*at));
            compared.differs(vec![Key::Integer(at.1.cast_signed())], words);
        }
    }

    /// The key of a row as the log has it, and the other cells.
    fn key<'c>(&self, cells: &'c [OwnedCell], keys: usize) -> (Vec<Key>, &'c [OwnedCell]) {
        let (key, cells) = cells.split_at(keys);
        let whole = |held: &OwnedCell| match key_of(held) {
            Key::Text(text) => {
                let cut = text.rsplit_once('~').and_then(|(beginning, digits)| {
                    self.shortened.get(digits).filter(|whole| whole.starts_with(beginning))
                });
                Key::Text(cut.unwrap_or(&text).clone())
            }
            other => other,
        };
        (key.iter().map(whole).collect(), cells)
    }
}

/// What a column should hold.
enum WantedCell<'r> {
    Whole(i128),
    Real(f64, f64),
    Just(OwnedCell),
    Last(&'r Latest),
}

fn wanted<'r>(column: &Column, kept: &'r Kept, row: &Row, keys: usize) -> WantedCell<'r> {
    match kept {
        Kept::Count(count) => WantedCell::Whole(*count),
        Kept::Sum(sum, size) => WantedCell::Real(*sum, *size),
        Kept::Extreme(held) => WantedCell::Just(held.clone().unwrap_or(OwnedCell::Absent)),
        Kept::Last(None) => WantedCell::Just(OwnedCell::Absent),
        Kept::Last(Some(latest)) => WantedCell::Last(latest),
        Kept::Mean => {
            let Role::Mean { sum, count } = column.role else {
                return WantedCell::Just(OwnedCell::Absent);
            };
            let (sum, size) = match &row.kept[sum - keys] {
                Kept::Count(sum) => (*sum as f64, sum.unsigned_abs() as f64),
                Kept::Sum(sum, size) => (*sum, *size),
                _ => (0.0, 0.0),
            };
            match row.kept[count - keys] {
                Kept::Count(count @ 1..) => {
                    WantedCell::Real(sum / count as f64, size / count as f64)
                }
                _ => WantedCell::Just(OwnedCell::Absent),
            }
        }
    }
}

impl WantedCell<'_> {
    fn is(&self, held: &OwnedCell) -> bool {
        match (self, held) {
            (Self::Whole(wanted), OwnedCell::Integer(held)) => {
                let held = i128::from(*held);
                [SUM_MAX.0, i128::from(i64::MAX)].iter().any(|most| {
                    *wanted == held || (wanted.abs() > *most && held == wanted.signum() * most)
                })
            }
            (Self::Real(wanted, size), OwnedCell::Real(held)) => {
                let most = wanted.clamp(-SUM_MAX.1, SUM_MAX.1);
                (wanted - held).abs() <= TOLERANCE * size || most == *held
            }
            (Self::Just(OwnedCell::Real(wanted)), OwnedCell::Real(held)) => {
                (wanted - held).abs() <= TOLERANCE * wanted.abs()
            }
            (Self::Just(wanted), held) => wanted == held,
            (Self::Last(latest), held) => latest.may_be(held),
            _ => false,
        }
    }
}

impl std::fmt::Display for WantedCell<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Real(number, _) => number.fmt(f),
            Self::Just(value) => f.write_str(&shown_held(value)),
            Self::Last(latest) => {
                f.write_str(&shown_held(&latest.value))?;
                match latest.values() {
                    1 => Ok(()),
                    all => write!(f, " (or one of {} others of that time)", all - 1),
                }
            }
        }
    }
}

impl Values {
    fn is_empty(&self) -> bool {
        match self {
            Self::Unique(values) => values.is_empty(),
            Self::Quantiles(values) => values.is_empty(),
        }
    }
}

/// Whether a sketch is of exactly these values, and answers within its error.
fn same_sketch(values: &Values, held: &OwnedCell) -> Result<(), String> {
    let bytes = match held {
        OwnedCell::Blob(bytes) => bytes,
        _ if values.is_empty() => return Ok(()),
        _ => return Err("is absent and should not be".to_owned()),
    };
    match values {
        Values::Unique(values) => {
            let mut held =
                Uniques::decode(bytes).map_err(|error| format!("is no sketch: {error}"))?;
            let (count, exact) = (held.count(), values.len() as u64);
            let most = (exact as f64 * UNIQUE_ERROR).ceil() as u64;
            if count.abs_diff(exact) > most {
                return Err(format!("should be about {exact} and is {count}"));
            }
            let mut again = Uniques::default();
            values.iter().for_each(|hash| again.add_hash(*hash));
            let mut encoded = Vec::new();
            again.encode(&mut encoded);
            (encoded == *bytes).then_some(()).ok_or_else(|| {
                format!("is of other values ({count} of them) than the log's {exact}")
            })
        }
        Values::Quantiles(values) => {
            let held =
                Quantiles::decode(bytes).map_err(|error| format!("is no sketch: {error}"))?;
            let exact: u64 = values.values().sum();
            if held.count() != exact {
                return Err(format!("should be of {exact} values and is of {}", held.count()));
            }
            let mut again = Quantiles::default();
            values.iter().for_each(|(at, times)| again.add_times(real_of(*at), *times));
            for q in QUANTILES {
                let rank = (q * (exact.saturating_sub(1)) as f64) as u64;
                let wanted = ranked(values, rank);
                let is = held.quantile(q).unwrap_or(f64::NAN);
                // What is nearer to zero than 10⁻⁹ counts as zero.
                let is_near = (is - wanted).abs() <= QUANTILE_ERROR * wanted.abs() + 1e-9;
                if !is_near {
                    return Err(format!("has quantile {q} at {is}, which should be {wanted}"));
                }
            }
            let mut encoded = Vec::new();
            again.encode(&mut encoded);
            (encoded == *bytes)
                .then_some(())
                .ok_or_else(|| "is of other values than the log's".into())
        }
    }
}

fn ranked(values: &std::collections::BTreeMap<i64, u64>, rank: u64) -> f64 {
    let mut seen = 0;
    let found = values.iter().find(|(_, times)| {
        seen += **times;
        seen > rank
    });
    found.map_or(f64::NAN, |(at, _)| real_of(*at))
}

fn shown_key(columns: &[Column], key: &[Key]) -> String {
    let cells = columns.iter().zip(key).map(|(column, key)| {
        let value = match key {
            Key::Absent => "absent".to_owned(),
            Key::Text(text) => format!("{text:?}"),
            Key::Integer(number) => number.to_string(),
            Key::Real(bits) => f64::from_bits(*bits).to_string(),
            Key::Time(us) => shown_time(*us),
        };
        format!("{} {value}", column.name)
    });
    format!("({})", cells.collect::<Vec<_>>().join(", "))
}

fn shown_held(held: &OwnedCell) -> String {
    match held {
        OwnedCell::Absent => "absent".to_owned(),
        OwnedCell::Integer(number) => number.to_string(),
        OwnedCell::Real(number) => number.to_string(),
        OwnedCell::Time(us) => shown_time(*us),
        OwnedCell::Text(text) => {
            let text = String::from_utf8_lossy(text);
            let beginning: String = text.chars().take(SHOWN_CHARACTERS).collect();
            let more = if beginning.len() < text.len() { "…" } else { "" };
            format!("{beginning:?}{more}")
        }
        OwnedCell::Blob(bytes) => format!("{} bytes", bytes.len()),
    }
}

fn shown_time(us: i64) -> String {
    let mut text = Vec::new();
    exchange::write_rfc3339(us.unsigned_abs(), &mut text);
    String::from_utf8_lossy(&text).into_owned()
}
