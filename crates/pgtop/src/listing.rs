//! A list to show: columns, rows, and which session a row is about.
//!
//! Every view becomes one, for the screen, as text and as JSON. A cell has a text, and a number
//! where it is one, so that sorting goes by what is meant.
//! Invariant: rows that are equal by the sorted column keep their order.

use std::cmp::Ordering;

use screen::{Align, Cell, Column as TableColumn, Ink, Style, Table as TextTable};
use serde_json::{Map, Value};

use crate::frame::QueryIdentity;

/// A column.
#[derive(Debug, Clone)]
pub struct ListColumn {
    /// Its title.
    pub title: &'static str,
    /// Whether it stands at the right.
    pub is_number: bool,
    /// Columns of the screen that it takes at most; 0 is what is left.
    pub width: usize,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ListCell {
    /// How it reads.
    pub text: String,
    /// What it is, if a number.
    pub number: Option<f64>,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub struct ListRow {
    /// A cell for each column.
    pub cells: Vec<ListCell>,
    /// How it is drawn.
    pub ink: Ink,
    /// Which query of which session it is about.
    pub session: Option<QueryIdentity>,
    /// What JSON has besides the cells.
    pub facts: Vec<(&'static str, Value)>,
}

/// A list.
#[derive(Debug, Clone, Default)]
pub struct ViewList {
    /// The columns.
    pub columns: Vec<ListColumn>,
    /// The rows.
    pub rows: Vec<ListRow>,
}

/// By which column a list is sorted, and in which direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOrder {
    /// The column's place.
    pub column: usize,
    /// Whether the greatest comes first.
    pub descends: bool,
}

impl ListCell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), number: None }
    }

    /// A number with how it reads.
    pub fn number(number: f64, text: String) -> Self {
        Self { text, number: Some(number) }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.number, other.number) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            // What is unknown is least.
            (Some(_), None) => Ordering::Greater,
            (None, Some(_)) => Ordering::Less,
            (None, None) => self.text.cmp(&other.text),
        }
    }
}

impl ViewList {
    /// Sorts the rows.
    pub fn sort(&mut self, order: ListOrder) {
        let empty = ListCell::default();
        self.rows.sort_by(|one, other| {
            let [one, other] = [one, other].map(|row| row.cells.get(order.column));
            let compared = one.unwrap_or(&empty).compare(other.unwrap_or(&empty));
            if order.descends { compared.reverse() } else { compared }
        });
    }

    /// Returns the list as a table.
    pub fn table(&self, style: &Style) -> String {
        let align = |column: &ListColumn| match column.is_number {
            true => Align::Right,
            false => Align::Left,
        };
        let columns = self.columns.iter().map(|it| TableColumn::new(it.title, align(it)));
        let mut table = TextTable::new(columns.collect());
        for row in &self.rows {
            table.push(row.cells.iter().map(|cell| Cell::new(&*cell.text, row.ink)).collect());
        }
        table.render(style)
    }

    /// Returns the rows as objects by the columns' titles, with their facts: numbers as such, all
    /// else of the cells as text.
    pub fn json(&self) -> Value {
        let row = |row: &ListRow| {
            let pairs = self.columns.iter().zip(&row.cells).map(|(column, cell)| {
                let value = match cell.number {
                    Some(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
                        Value::from(number as i64)
                    }
                    Some(number) => Value::from(number),
                    None if cell.text.is_empty() => Value::Null,
                    None => Value::from(cell.text.clone()),
                };
                (column.title.to_owned(), value)
            });
            let facts = row.facts.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
            Value::Object(pairs.chain(facts).collect::<Map<_, _>>())
        };
        self.rows.iter().map(row).collect()
    }
}
