//! SQL texts for a table: what creates it, and what merges a row into it.

use pipeline::{Column, Kind, Role, Table};

/// The table of checkpoints.
pub const CHECKPOINTS: &str = "tidegate_checkpoints";

/// What engines write differently.
pub struct Dialect {
    /// Around names.
    pub quote: char,
    /// Types of text, whole numbers, real numbers, times and blobs.
    pub types: [&'static str; 5],
    /// How the row that is inserted is called in the update of the one that is there: before and
    /// after the column's name.
    pub incoming: (&'static str, &'static str),
    /// What stands between the values and the updates; keys are put in for `{keys}`.
    pub on_conflict: &'static str,
    /// The smaller and the larger of two values.
    pub least_greatest: (&'static str, &'static str),
}

impl Dialect {
    /// `name` in quotes.
    pub fn quoted(&self, name: &str) -> String {
        format!("{0}{name}{0}", self.quote)
    }

    /// Creates the table, unless it is there.
    pub fn create(&self, table: &Table) -> String {
        let columns = table.columns.iter().map(|column| self.definition(table, column));
        let mut parts: Vec<String> = columns.collect();
        if table.keys() > 0 {
            parts.push(format!("PRIMARY KEY ({})", self.keys(table)));
        }
        let name = self.quoted(&table.name);
        format!("CREATE TABLE IF NOT EXISTS {name} ({})", parts.join(", "))
    }

    /// Inserts one row, or merges it into the one with the same key; `placeholder` writes the
    /// n-th parameter, from 0, one for each column that rows hold a value for.
    pub fn merge(&self, table: &Table, placeholder: impl Fn(usize) -> String) -> String {
        let stored: Vec<&Column> = stored(table).collect();
        let names: Vec<String> = stored.iter().map(|column| self.quoted(&column.name)).collect();
        let values: Vec<String> = (0..stored.len()).map(placeholder).collect();
        let mut text = format!(
            "INSERT INTO {} ({}) VALUES ({})",
            self.quoted(&table.name),
            names.join(", "),
            values.join(", ")
        );
        if table.keys() > 0 {
            let updates = stored.iter().filter_map(|column| self.update(table, column));
            let updates: Vec<String> = updates.collect();
            text += &self.on_conflict.replace("{keys}", &self.keys(table));
            text += &updates.join(", ");
        }
        text
    }

    /// Reads the sketches of the row with a key; `placeholder` writes the n-th parameter, from 0,
    /// one for each column of the key.
    pub fn held_sketches(&self, table: &Table, placeholder: impl Fn(usize) -> String) -> String {
        let sketches = table.columns.iter().filter(|column| column.role == Role::Sketch);
        let names: Vec<String> = sketches.map(|column| self.quoted(&column.name)).collect();
        let keys = table.columns[..table.keys()].iter().enumerate();
        let keys: Vec<String> = keys
            .map(|(at, column)| format!("{} = {}", self.quoted(&column.name), placeholder(at)))
            .collect();
        let table = self.quoted(&table.name);
        format!("SELECT {} FROM {table} WHERE {}", names.join(", "), keys.join(" AND "))
    }

    fn definition(&self, table: &Table, column: &Column) -> String {
        let name = self.quoted(&column.name);
        let kind = self.types[column.kind as usize];
        match column.role {
            Role::Key => format!("{name} {kind} NOT NULL"),
            Role::Mean { sum, count } => {
                let sum = self.quoted(&table.columns[sum].name);
                let count = self.quoted(&table.columns[count].name);
                format!(
                    "{name} {kind} GENERATED ALWAYS AS ({sum} * 1.0 / NULLIF({count}, 0)) STORED"
                )
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
        let held = format!("{}.{name}", self.quoted(&table.name));
        let new = self.incoming(&column.name);
        let (least, greatest) = self.least_greatest;
        let value = match column.role {
            Role::Key | Role::Mean { .. } | Role::Plain => return None,
            // Merged with the one held before it is written.
            Role::Sketch => format!("COALESCE({new}, {held})"),
            Role::Sum => format!("{held} + {new}"),
            Role::Min => format!("COALESCE({least}({held}, {new}), {held}, {new})"),
            Role::Max => format!("COALESCE({greatest}({held}, {new}), {held}, {new})"),
            Role::Last { time } => {
                let time = &table.columns[time].name;
                let held_time = format!("{}.{}", self.quoted(&table.name), self.quoted(time));
                let new_time = self.incoming(time);
                format!(
                    "CASE WHEN {held_time} IS NULL OR {new_time} >= {held_time} \
                     THEN {new} ELSE {held} END"
                )
            }
        };
        Some(format!("{name} = {value}"))
    }

    fn incoming(&self, name: &str) -> String {
        format!("{}{}{}", self.incoming.0, self.quoted(name), self.incoming.1)
    }
}

/// The columns that rows hold a value for.
pub fn stored(table: &Table) -> impl Iterator<Item = &Column> {
    table.columns.iter().filter(|column| !matches!(column.role, Role::Mean { .. }))
}

/// The texts that [`Kind`] is written as, in the order of [`Dialect::types`].
const _: () = {
    assert!(Kind::Text as usize == 0 && Kind::Integer as usize == 1);
    assert!(Kind::Real as usize == 2 && Kind::Time as usize == 3 && Kind::Blob as usize == 4);
};
