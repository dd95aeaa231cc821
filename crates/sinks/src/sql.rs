//! Writes SQL that creates a table, adds a column, and merges rows into a table.
//!
//! Engines differ by a [`Dialect`], which SQLite, MySQL and PostgreSQL each have. Also here: which
//! columns rows fill in (`stored`). These are all but means, which the engine computes. Also which
//! key is the machine's name, and how SQLite reads a row's sketches.
//! Invariant: a merge does as each column's role says; it overwrites sketches, which must be merged
//! before. Last values are updated before the times that decide them, since MySQL sees earlier
//! assignments in later ones. Names are quoted, not escaped: `pipeline` makes them of letters,
//! digits and underscores.
//! What a role means is written again in `sanitise.rs` (`merge_row`), `clickhouse/schema.rs`
//! (`view`), `mongodb/encode.rs` and `sqlite/query.rs`. All change together. Tables of users have
//! these types: `existing.rs` refuses a table with others. Under another name of `CHECKPOINTS`
//! nothing was delivered yet, and rows count twice. `soak/src/events/oracle.rs` reads that table,
//! too.
//! Elsewhere: running the texts (each engine), ClickHouse's (`clickhouse/schema.rs`), queries
//! (`read_back.rs`, `sqlite/query.rs`).

use pipeline::{Column, ColumnRole, Kind, Table};

/// The table of checkpoints.
pub(crate) const CHECKPOINTS: &str = "tidegate_checkpoints";

/// What engines write differently.
pub(crate) struct Dialect {
    /// Around names.
    pub quote: char,
    /// Types of text, whole numbers, real numbers, times and blobs.
    pub types: [&'static str; 5],
    /// Other types, in lower case, that text may have where the table exists already.
    pub also: &'static [&'static str],
    /// The same for text in keys.
    pub also_in_keys: &'static [&'static str],
    /// How the row that is inserted is called in the update of the one that is there: before and
    /// after the column's name.
    pub incoming: (&'static str, &'static str),
    /// What stands between the values and the updates; keys are put in for `{keys}`.
    pub on_conflict: &'static str,
    /// The smaller and the larger of two values.
    pub least_greatest: (&'static str, &'static str),
    /// Whether computed columns are `STORED` or `VIRTUAL`.
    pub computed: &'static str,
    /// Sums of these kinds stop at these numbers, because the engine refuses larger ones.
    pub sums_stop_at: Option<[(Kind, &'static str); 2]>,
}

impl Dialect {
    /// `name` in quotes.
    pub(crate) fn quoted(&self, name: &str) -> String {
        format!("{0}{name}{0}", self.quote)
    }

    /// Creates the table, unless it is there; `key_text` tells the type of text in keys.
    pub(crate) fn create(&self, table: &Table, key_text: impl Fn(&Column) -> String) -> String {
        let columns = table.columns.iter().map(|c| self.definition(table, c, &key_text(c)));
        let mut parts: Vec<String> = columns.collect();
        if table.keys() > 0 {
            parts.push(format!("PRIMARY KEY ({})", self.keys(table)));
        }
        let name = self.quoted(&table.name);
        format!("CREATE TABLE IF NOT EXISTS {name} ({})", parts.join(", "))
    }

    /// Adds a column that is no key to a table that is there, and logs what rows have in it.
    pub(crate) fn add_column(&self, table: &Table, column: &Column) -> String {
        tracing::warn!(
            table = table.name,
            column = column.name,
            "a column is added: rows that are there lack what came before"
        );
        let definition = self.definition(table, column, "");
        format!("ALTER TABLE {} ADD COLUMN {definition}", self.quoted(&table.name))
    }

    /// Inserts the rows of `source` (`VALUES …` or `SELECT …`), each merged into the one with the
    /// same key. A row of the source has a value for each column of [`stored`].
    pub(crate) fn merge(&self, table: &Table, source: &str) -> String {
        let name = self.quoted(&table.name);
        let mut text = format!("INSERT INTO {name} ({}) {source}", self.stored_names(table));
        if table.keys() > 0 {
            // MySQL sees earlier assignments in later ones, so what a time decides goes first.
            let last = |column: &&Column| matches!(column.role, ColumnRole::Last { .. });
            let first = stored(table).filter(last);
            let columns = first.chain(stored(table).filter(|column| !last(column)));
            let updates: Vec<String> =
                columns.filter_map(|column| self.update(table, column)).collect();
            text += &self.on_conflict.replace("{keys}", &self.keys(table));
            text += &updates.join(", ");
        }
        text
    }

    /// Reads the sketches of the row with a key. `placeholder` writes the n-th parameter, from 0,
    /// one for each column of the key.
    pub(crate) fn stored_sketches(
        &self,
        table: &Table,
        placeholder: impl Fn(usize) -> String,
    ) -> String {
        let sketches = table.columns.iter().filter(|column| column.role == ColumnRole::Sketch);
        let names: Vec<String> = sketches.map(|column| self.quoted(&column.name)).collect();
        let keys = table.columns[..table.keys()].iter().enumerate();
        let keys: Vec<String> = keys
            .map(|(at, column)| format!("{} = {}", self.quoted(&column.name), placeholder(at)))
            .collect();
        let table = self.quoted(&table.name);
        format!("SELECT {} FROM {table} WHERE {}", names.join(", "), keys.join(" AND "))
    }

    /// The names of the columns of [`stored`], between commas.
    pub(crate) fn stored_names(&self, table: &Table) -> String {
        stored(table).map(|column| self.quoted(&column.name)).collect::<Vec<_>>().join(", ")
    }

    fn definition(&self, table: &Table, column: &Column, key_text: &str) -> String {
        let name = self.quoted(&column.name);
        let kind = self.types[column.kind as usize];
        match column.role {
            ColumnRole::Key if column.kind == Kind::Text => format!("{name} {key_text} NOT NULL"),
            ColumnRole::Key => format!("{name} {kind} NOT NULL"),
            ColumnRole::Mean { sum, count } => {
                let sum = self.quoted(&table.columns[sum].name);
                let count = self.quoted(&table.columns[count].name);
                let (quotient, kept) = (format!("{sum} * 1e0 / NULLIF({count}, 0)"), self.computed);
                format!("{name} {kind} GENERATED ALWAYS AS ({quotient}) {kept}")
            }
            _ => format!("{name} {kind}"),
        }
    }

    fn keys(&self, table: &Table) -> String {
        let keys = table.columns[..table.keys()].iter();
        keys.map(|column| self.quoted(&column.name)).collect::<Vec<_>>().join(", ")
    }

    fn update(&self, table: &Table, column: &Column) -> Option<String> {
        let name = self.quoted(&column.name);
        let old = format!("{}.{name}", self.quoted(&table.name));
        let new = self.incoming(&column.name);
        let (least, greatest) = self.least_greatest;
        let value = match column.role {
            ColumnRole::Key | ColumnRole::Mean { .. } | ColumnRole::Plain => return None,
            // Merged with the one held before it is written.
            ColumnRole::Sketch => format!("COALESCE({new}, {old})"),
            ColumnRole::Sum => {
                let sum = self.sum(column.kind, &old, &new);
                format!(
                    "CASE WHEN {old} IS NULL THEN {new} WHEN {new} IS NULL THEN {old} \
                         ELSE {sum} END"
                )
            }
            ColumnRole::Min => format!("COALESCE({least}({old}, {new}), {old}, {new})"),
            ColumnRole::Max => format!("COALESCE({greatest}({old}, {new}), {old}, {new})"),
            ColumnRole::Last { time } => {
                let time = &table.columns[time].name;
                let old_time = format!("{}.{}", self.quoted(&table.name), self.quoted(time));
                let new_time = self.incoming(time);
                format!(
                    "CASE WHEN {old_time} IS NULL OR {new_time} >= {old_time} \
                     THEN {new} ELSE {old} END"
                )
            }
        };
        Some(format!("{name} = {value}"))
    }

    fn sum(&self, kind: Kind, old: &str, new: &str) -> String {
        let (least, greatest) = self.least_greatest;
        let limits = self.sums_stop_at.iter().flatten();
        match limits.into_iter().find(|(of, _)| *of == kind) {
            Some((_, most)) => format!("{least}({most}, {greatest}(-{most}, {old} + {new}))"),
            None => format!("{old} + {new}"),
        }
    }

    fn incoming(&self, name: &str) -> String {
        format!("{}{}{}", self.incoming.0, self.quoted(name), self.incoming.1)
    }
}

/// The name of the machine in the key of a table of sketches. The table beside it does not have
/// this column. Room is left for it in both, so that their other keys are cut alike.
pub(crate) fn is_node(table: &Table, column: &Column) -> bool {
    table.has_sketches() && table.columns[..table.keys()].last() == Some(column)
}

/// The number of texts in the key of a table, without the machine's name.
pub(crate) fn key_texts(table: &Table) -> usize {
    let keys = table.columns[..table.keys()].iter();
    keys.filter(|key| key.kind == Kind::Text && !is_node(table, key)).count()
}

/// The columns that rows hold a value for.
pub(crate) fn stored(table: &Table) -> impl Iterator<Item = &Column> {
    table.columns.iter().filter(|column| !matches!(column.role, ColumnRole::Mean { .. }))
}

/// The texts that [`Kind`] is written as, in the order of [`Dialect::types`].
const _: () = {
    assert!(Kind::Text as usize == 0 && Kind::Integer as usize == 1);
    assert!(Kind::Real as usize == 2 && Kind::Time as usize == 3 && Kind::Blob as usize == 4);
};
