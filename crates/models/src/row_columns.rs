//! Joins a model's columns with items: which number each has for an item and a request.
//!
//! | column | depends on | is computed |
//! |---|---|---|
//! | item numbers and texts, and products of these | the item | once, when items are loaded |
//! | user and context features, and products of these | the request | once a request |
//! | products of both, and look-ups by an item's text | both | for each item of a request |
//!
//! Invariant: an absent number is NaN, and a product with it is NaN. In a graph in ONNX, an absent
//! whole number is 0, and an absent text is one that the graph does not name. Whether a text is
//! another one is 1 or 0, also where there is no text. Numbers are doubles, as the file of items
//! has them, and factors are multiplied from left to right. So values are those that a data frame
//! would hold.
//! Fails with [`Error::Join`]: items read without a field, a look-up by too many texts.
//! Never here: names (`column_name.rs`), and what is made of values (`rank/rows.rs`).

use std::collections::HashMap;

use crate::column_name::{ColumnName, ColumnSide};
use crate::error::Error;
use crate::inputs::{InputSlot, Inputs, WholeBounds, Words};
use crate::items::{Codes, Items};
use crate::linear::{FeatureName, FeatureSource};
use crate::row_model::RowModel;

/// Texts by which a request may be asked for a number: each takes a slot in every request.
const LOOKED_UP_MAX: usize = 1 << 16;

/// The columns of a model, joined with items.
#[derive(Debug)]
pub(crate) struct RowColumns {
    columns: Vec<JoinedColumn>,
    /// Numbers of items, by field.
    numbers: Vec<Vec<f64>>,
    /// Fields of texts.
    texts: Vec<String>,
    /// By look-up, then by code of the item's text: the slot.
    looked_up: Vec<Vec<usize>>,
    /// By word of items, then by code of the item's text: the number that stands for it.
    words: Vec<Vec<f64>>,
    /// What stands for a text that an item does not have.
    absent_word: f64,
}

/// What a column's values depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    Item,
    Request,
    Both,
}

#[derive(Debug)]
struct JoinedColumn {
    sides: Vec<JoinedSide>,
    reach: Reach,
}

/// One factor of a column.
#[derive(Debug, Clone, Copy)]
enum JoinedSide {
    /// The number of a field.
    Number(usize),
    /// Whether the text of a field has this code.
    Text { field: usize, code: Option<u32> },
    /// The number that stands for the text of a field.
    Word { field: usize, word: usize },
    /// What a request brings.
    Slot(usize),
    /// What a request brings for the text of a field.
    OfItem { field: usize, looked_up: usize },
}

/// What a request brings.
#[derive(Clone, Copy)]
pub(crate) struct RequestValues<'a> {
    pub(crate) inputs: &'a Inputs,
    pub(crate) slots: &'a [f64],
}

impl RowColumns {
    /// Joins a model's columns with items, taking their number columns. Returns the features of
    /// requests, too.
    ///
    /// # Errors
    /// [`Error::Join`] with the first column that does not fit.
    pub(crate) fn join(model: &RowModel, items: &mut Items) -> Result<(Self, Inputs), Error> {
        let mut join = ColumnJoin {
            numbers_of_items: items.take_numbers(),
            fields: HashMap::new(),
            slots: Vec::new(),
            slot_of: HashMap::new(),
            words: model.words(),
            joined: Self {
                columns: Vec::new(),
                numbers: Vec::new(),
                texts: Vec::new(),
                looked_up: Vec::new(),
                words: Vec::new(),
                absent_word: f64::NAN,
            },
        };
        join.joined.absent_word = join.words.absent();
        for (number, column) in model.columns.iter().enumerate() {
            let column = join.column(column, model.bounds(number), items)?;
            join.joined.columns.push(column);
        }
        let inputs = Inputs::of_slots(join.slots.into_iter(), join.words);
        Ok((join.joined, inputs))
    }

    /// Returns the number of columns.
    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn reach(&self, column: usize) -> Reach {
        self.columns[column].reach
    }

    /// Returns the columns that depend on this.
    pub(crate) fn reaching(&self, reach: Reach) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(move |column| self.reach(*column) == reach)
    }

    /// Returns the value of a column that depends on the request alone.
    pub(crate) fn constant(&self, column: usize, request: RequestValues<'_>) -> f64 {
        let sides = self.columns[column].sides.iter().map(|side| match side {
            JoinedSide::Slot(slot) => request.inputs.value(request.slots, *slot),
            _ => f64::NAN,
        });
        sides.fold(1.0, |product, side| product * side)
    }

    /// Writes a column's values for the first rows of `out`.
    pub(crate) fn fill(
        &self,
        column: usize,
        (items, rows): (&Items, &[u32]),
        request: RequestValues<'_>,
        out: &mut [f64],
    ) {
        let RequestValues { inputs, slots } = request;
        out.fill(1.0);
        let pairs = || rows.iter().map(|row| *row as usize);
        for side in &self.columns[column].sides {
            let out = out.iter_mut().zip(pairs());
            match side {
                JoinedSide::Number(field) => {
                    let numbers = &self.numbers[*field];
                    out.for_each(|(out, row)| *out *= numbers[row]);
                }
                JoinedSide::Text { field, code } => {
                    let codes = self.codes(items, *field).rows();
                    out.for_each(|(out, row)| *out *= f64::from(*code == Some(codes[row])));
                }
                JoinedSide::Word { field, word } => {
                    let codes = self.codes(items, *field).rows();
                    let by_code = &self.words[*word];
                    out.for_each(|(out, row)| {
                        let word = by_code.get(codes[row] as usize);
                        *out *= word.copied().unwrap_or(self.absent_word);
                    });
                }
                JoinedSide::Slot(slot) => {
                    let value = inputs.value(slots, *slot);
                    out.for_each(|(out, _)| *out *= value);
                }
                JoinedSide::OfItem { field, looked_up } => {
                    let codes = self.codes(items, *field).rows();
                    let by_code = &self.looked_up[*looked_up];
                    out.for_each(|(out, row)| {
                        let slot = by_code.get(codes[row] as usize);
                        *out *= slot.map_or(f64::NAN, |slot| inputs.value(slots, *slot));
                    });
                }
            }
        }
    }

    /// Lets go of numbers that no request needs.
    pub(crate) fn keep_what_requests_need(&mut self) {
        let mut needed = vec![false; self.numbers.len()];
        for column in self.columns.iter().filter(|column| column.reach == Reach::Both) {
            for side in &column.sides {
                if let JoinedSide::Number(field) = side {
                    needed[*field] = true;
                }
            }
        }
        for (numbers, needed) in self.numbers.iter_mut().zip(needed) {
            if !needed {
                *numbers = Vec::new();
            }
        }
    }

    fn codes<'i>(&self, items: &'i Items, field: usize) -> &'i Codes {
        items.text(&self.texts[field]).expect("the items were joined with this field")
    }
}

struct ColumnJoin {
    numbers_of_items: HashMap<String, Vec<f64>>,
    /// Where each field of numbers or texts stands in `joined`.
    fields: HashMap<String, usize>,
    slots: Vec<InputSlot>,
    slot_of: HashMap<FeatureName, usize>,
    words: Words,
    joined: RowColumns,
}

impl ColumnJoin {
    fn column(
        &mut self,
        column: &ColumnName,
        bounds: Option<WholeBounds>,
        items: &Items,
    ) -> Result<JoinedColumn, Error> {
        let sides = column.sides.iter().map(|side| self.side(side, bounds, items));
        let sides = sides.collect::<Result<Vec<_>, _>>()?;
        let of_request = |side: &JoinedSide| matches!(side, JoinedSide::Slot(_));
        let of_both = |side: &JoinedSide| matches!(side, JoinedSide::OfItem { .. });
        let reach = if sides.iter().all(of_request) {
            Reach::Request
        } else if sides.iter().any(|side| of_request(side) || of_both(side)) {
            Reach::Both
        } else {
            Reach::Item
        };
        Ok(JoinedColumn { sides, reach })
    }

    fn side(
        &mut self,
        side: &ColumnSide,
        bounds: Option<WholeBounds>,
        items: &Items,
    ) -> Result<JoinedSide, Error> {
        match side {
            ColumnSide::Feature(name) if name.source != FeatureSource::Item => {
                let missing =
                    if name.equals.is_some() || bounds.is_some() { 0.0 } else { f64::NAN };
                Ok(self.slot(InputSlot { name: name.clone(), is_word: false, missing, bounds }))
            }
            ColumnSide::Word(name) if name.source != FeatureSource::Item => {
                let (name, missing) = (name.clone(), self.words.absent());
                Ok(self.slot(InputSlot { name, is_word: true, missing, bounds }))
            }
            ColumnSide::Word(FeatureName { field, .. }) => {
                let codes = texts(items, field)?;
                let mut numbers = vec![0.0; codes.distinct()];
                for (text, code) in codes.values() {
                    numbers[code as usize] = self.words.number(text);
                }
                self.joined.words.push(numbers);
                let word = self.joined.words.len() - 1;
                Ok(JoinedSide::Word { field: self.text_field(field), word })
            }
            ColumnSide::Feature(FeatureName { field, equals: Some(text), .. }) => {
                let code = texts(items, field)?.code(text);
                Ok(JoinedSide::Text { field: self.text_field(field), code })
            }
            ColumnSide::Feature(FeatureName { field, .. }) => self.number(field, bounds),
            ColumnSide::OfItem { source, name, field } => {
                let codes = texts(items, field)?;
                if codes.distinct() > LOOKED_UP_MAX {
                    let (found, prefix) = (codes.distinct(), source.prefix());
                    return Err(Error::Join(format!(
                        "`{prefix}.{name}@item.{field}` asks for {found} texts of items, at most \
                         {LOOKED_UP_MAX}"
                    )));
                }
                let mut slots = vec![0; codes.distinct()];
                for (text, code) in codes.values() {
                    let field = format!("{name}.{text}");
                    let name = FeatureName { source: *source, field, equals: None };
                    let (is_word, missing) = (false, f64::NAN);
                    let slot = self.slot_of(InputSlot { name, is_word, missing, bounds: None });
                    slots[code as usize] = slot;
                }
                self.joined.looked_up.push(slots);
                let looked_up = self.joined.looked_up.len() - 1;
                Ok(JoinedSide::OfItem { field: self.text_field(field), looked_up })
            }
        }
    }

    fn slot(&mut self, slot: InputSlot) -> JoinedSide {
        JoinedSide::Slot(self.slot_of(slot))
    }

    fn slot_of(&mut self, slot: InputSlot) -> usize {
        let next = self.slots.len();
        let place = *self.slot_of.entry(slot.name.clone()).or_insert(next);
        if place == next {
            self.slots.push(slot);
        }
        place
    }

    fn number(&mut self, field: &str, bounds: Option<WholeBounds>) -> Result<JoinedSide, Error> {
        if let Some(known) = self.fields.get(field) {
            return Ok(JoinedSide::Number(*known));
        }
        let numbers = self.numbers_of_items.remove(field).ok_or_else(|| lacking(field))?;
        let numbers = match bounds {
            None => numbers,
            // No whole number says that there is none.
            Some(_) => numbers.into_iter().map(|x| if x.is_nan() { 0.0 } else { x }).collect(),
        };
        self.joined.numbers.push(numbers);
        let place = self.joined.numbers.len() - 1;
        self.fields.insert(field.to_owned(), place);
        Ok(JoinedSide::Number(place))
    }

    /// Where a field of texts stands; no field of numbers has its name.
    fn text_field(&mut self, field: &str) -> usize {
        let next = self.joined.texts.len();
        let place = *self.fields.entry(field.to_owned()).or_insert(next);
        if place == next {
            self.joined.texts.push(field.to_owned());
        }
        place
    }
}

fn texts<'i>(items: &'i Items, field: &str) -> Result<&'i Codes, Error> {
    items.text(field).ok_or_else(|| lacking(field))
}

fn lacking(field: &str) -> Error {
    Error::Join(format!("items were read without `{field}`, which the model reads"))
}
