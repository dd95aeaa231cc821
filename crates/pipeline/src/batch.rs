//! Defines what is delivered at once: tables and columns, rows for them, and the checkpoint that is
//! committed with them.
//!
//! Rows are flat: one vector of cells, one of text. A batch of a hundred thousand rows is a handful
//! of allocations, and dropping it costs nothing. The text of one table's rows is bounded to 4 GB
//! by a panic; windows stay far below, because `tidegate/src/config.rs` allows 2 GB at most.
//! `fit` makes text what engines take. Keys that it shortened are stored: another hash or bound
//! would split their rows. `short` in `recount/src/count.rs` does the same by code of its own.
//! docs/operating/events.md names the bound.
//! `by_key` sorts rows by key; SQLite gets them so, which was measured (docs/decisions/events.md).
//! Plain data: `window` sees to it that a key comes once, cells match their columns and text fits.
//! `tidegate/src/events/copy.rs` fills rows, too, with what a sink holds. What a role means is
//! repeated by each engine; `sinks/src/sql.rs` says where. Sinks store all parts of a
//! [`Checkpoint`]; `delivery` compares all of them.
//! Never here: adding lines up (`window`), and how an engine merges (`sinks`).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use twox_hash::XxHash3_64;

/// Text in a key is shortened to this: engines bound what an index may hold.
pub const KEY_TEXT_BYTES_MAX: usize = 512;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 without NUL, since not every engine takes others. In a key it has at most
    /// [`KEY_TEXT_BYTES_MAX`] bytes. Text that did not fit was made to fit before it came here.
    Text,
    /// A signed whole number.
    Integer,
    /// A real number.
    Real,
    /// Microseconds since the Unix epoch, shown as the engine shows times, in UTC.
    Time,
    /// Bytes as they are.
    Blob,
}

/// What happens to a column when a row meets the row of the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnRole {
    /// It is part of the key.
    Key,
    /// The values are added.
    Sum,
    /// The smaller one stays; absent counts as larger.
    Min,
    /// The larger one stays; absent counts as smaller.
    Max,
    /// The one with the larger value in column `time` stays, the new one when they are equal.
    Last {
        /// The column that decides.
        time: usize,
    },
    /// It is computed by dividing one column by another; rows hold nothing for it.
    Mean {
        /// The dividend.
        sum: usize,
        /// The divisor; 0 makes the mean absent.
        count: usize,
    },
    /// The values are sketches, merged by `metrics::merge_sketches`. The sink reads the sketch that
    /// it holds and writes the merged one, in the transaction of the batch. An engine's upsert
    /// replaces the column with what is written.
    Sketch,
    /// Rows never meet: the table has no key.
    Plain,
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// Its type.
    pub kind: Kind,
    /// How rows merge.
    pub role: ColumnRole,
}

/// A table that rows go into. Keys come first among the columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its name: letters, digits and underscores.
    pub name: String,
    /// Its columns, keys first.
    pub columns: Vec<Column>,
}

impl Table {
    /// Whether a row must see the stored one that it meets: a column is a sketch.
    pub fn has_sketches(&self) -> bool {
        self.columns.iter().any(|column| column.role == ColumnRole::Sketch)
    }

    /// The number of key columns, which come first.
    pub fn keys(&self) -> usize {
        self.columns.iter().take_while(|column| column.role == ColumnRole::Key).count()
    }
}

/// The value of one column in one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CellValue<'a> {
    /// No value.
    Absent,
    /// For `Kind::Integer`.
    Integer(i64),
    /// For `Kind::Real`.
    Real(f64),
    /// For `Kind::Time`: microseconds since the Unix epoch.
    Time(i64),
    /// For `Kind::Text`.
    Text(&'a [u8]),
    /// For `Kind::Blob`.
    Blob(&'a [u8]),
}

/// Rows for one table, each key at most once.
#[derive(Debug, Clone)]
pub struct TableRows {
    /// Where they go.
    pub table: Arc<Table>,
    pub(crate) cells: Vec<Flat>,
    pub(crate) text: Vec<u8>,
}

/// A cell whose text lies in [`TableRows::text`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Flat {
    Absent,
    Integer(i64),
    Real(f64),
    Time(i64),
    Text { start: u32, length: u32 },
    Blob { start: u32, length: u32 },
}

impl TableRows {
    /// No rows yet.
    pub fn new(table: Arc<Table>) -> Self {
        Self { table, cells: Vec::new(), text: Vec::new() }
    }

    /// Adds the next cell of the row under way; a row is whole when it has a cell per column.
    ///
    /// # Panics
    /// When the text of all rows exceeds 4 GB; windows are bounded far below.
    pub fn push(&mut self, cell: CellValue<'_>) {
        let flat = match cell {
            CellValue::Absent => Flat::Absent,
            CellValue::Integer(number) => Flat::Integer(number),
            CellValue::Real(number) => Flat::Real(number),
            CellValue::Time(us) => Flat::Time(us),
            CellValue::Text(text) => {
                let (start, length) = self.keep(text);
                Flat::Text { start, length }
            }
            CellValue::Blob(bytes) => {
                let (start, length) = self.keep(bytes);
                Flat::Blob { start, length }
            }
        };
        self.cells.push(flat);
    }

    pub(crate) fn keep(&mut self, bytes: &[u8]) -> (u32, u32) {
        let start = u32::try_from(self.text.len()).expect("windows are bounded below 4 GB");
        self.text.extend_from_slice(bytes);
        let length = u32::try_from(bytes.len()).expect("windows are bounded below 4 GB");
        (start, length)
    }

    /// The number of whole rows.
    pub fn len(&self) -> usize {
        self.cells.len() / self.table.columns.len()
    }

    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.len() * size_of::<Flat>() + self.text.len()
    }

    /// Forgets all rows and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
    }

    /// Gives up memory beyond what the rows take.
    pub(crate) fn shrink(&mut self) {
        self.cells.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The numbers of the rows in the order of their keys: what is near to each other in an index
    /// comes one after the other.
    pub fn by_key(&self) -> Vec<usize> {
        let (width, keys) = (self.table.columns.len(), self.table.keys());
        let key = |row: usize| &self.cells[row * width..][..keys];
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by(|one, other| {
            let mut pairs = key(*one).iter().zip(key(*other)).map(|(a, b)| self.compare(*a, *b));
            pairs.find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
        });
        order
    }

    /// Compares two cells of one column.
    fn compare(&self, one: Flat, other: Flat) -> Ordering {
        match (one, other) {
            (Flat::Integer(one), Flat::Integer(other)) | (Flat::Time(one), Flat::Time(other)) => {
                one.cmp(&other)
            }
            (Flat::Real(one), Flat::Real(other)) => one.total_cmp(&other),
            (one, other) => self.bytes_of(one).cmp(self.bytes_of(other)),
        }
    }

    /// The bytes of a text or a blob.
    pub(crate) fn bytes_of(&self, cell: Flat) -> &[u8] {
        match cell {
            Flat::Text { start, length } | Flat::Blob { start, length } => {
                &self.text[start as usize..][..length as usize]
            }
            _ => b"",
        }
    }

    /// The cells of one row, in the order of the columns.
    pub fn row(&self, index: usize) -> impl ExactSizeIterator<Item = CellValue<'_>> {
        let width = self.table.columns.len();
        self.cells[index * width..(index + 1) * width].iter().map(|flat| match *flat {
            Flat::Absent => CellValue::Absent,
            Flat::Integer(number) => CellValue::Integer(number),
            Flat::Real(number) => CellValue::Real(number),
            Flat::Time(us) => CellValue::Time(us),
            Flat::Text { .. } => CellValue::Text(self.bytes_of(*flat)),
            Flat::Blob { .. } => CellValue::Blob(self.bytes_of(*flat)),
        })
    }
}

/// How far a source is delivered. It lives in the sink, beside the rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The machine that read.
    pub node: String,
    /// The source that was read.
    pub source: String,
    /// How many batches were committed; the compare-and-swap is on this number.
    pub sequence: u64,
    /// Where the source goes on, as the source writes it.
    pub position: String,
}

/// What is delivered at once.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The checkpoint after this batch. It may be committed only where the sink holds the one
    /// before it: `sequence - 1`, or none when `sequence` is 1.
    pub checkpoint: Checkpoint,
    /// The rows.
    pub rows: Vec<TableRows>,
}

/// `text` as engines take it: UTF-8 without NUL, at most `bytes_max` bytes. A longer text keeps its
/// beginning, then `…` and 16 hexadecimal digits of the XXH3 of the whole. So two texts that differ
/// only in their ends still differ.
pub(crate) fn fit(text: &[u8], bytes_max: usize) -> Cow<'_, [u8]> {
    let valid = match std::str::from_utf8(text) {
        Ok(valid) if memchr::memchr(0, text).is_none() => Cow::Borrowed(valid),
        Ok(valid) => Cow::Owned(valid.replace('\0', "\u{fffd}")),
        Err(_) => Cow::Owned(String::from_utf8_lossy(text).replace('\0', "\u{fffd}")),
    };
    if valid.len() <= bytes_max {
        return match valid {
            Cow::Borrowed(valid) => Cow::Borrowed(valid.as_bytes()),
            Cow::Owned(valid) => Cow::Owned(valid.into_bytes()),
        };
    }
    let mut end = bytes_max - '…'.len_utf8() - 16;
    while !valid.is_char_boundary(end) {
        end -= 1;
    }
    let whole = XxHash3_64::oneshot(text);
    Cow::Owned(format!("{}…{whole:016x}", &valid[..end]).into_bytes())
}

#[cfg(test)]
mod tests;
