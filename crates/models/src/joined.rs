//! Joins a linear model with items: parts its terms by what they depend on, and weighs a request.
//!
//! | term | depends on | where it goes |
//! |---|---|---|
//! | item feature, item × item | the item | `base`, one sum per item |
//! | user or context feature, a cross of two | the request | the constant of a request |
//! | item number × user or context | both | a live column: the request gives its weight |
//! | item text × user or context | both | a live table: the request gives a sum per text |
//!
//! Numbers are stored as `column.rs` packs them: f32, and differences from the mean where they lie
//! far from 0. Crosses are divided by `scale` when joined, so a request only multiplies them.
//!
//! Invariant: `value` gives the raw number that scoring uses. So contributions that are explained
//! and the intercept sum to what the link function takes, but for rounding. Weighing gives `None`
//! where a bound on any item's sum is not finite. Where it gives a number, every sum is finite.
//! Fails with [`Error::Join`]: items read without a column, a column that an f32 cannot hold, an
//! item without a finite sum.
//! `features` and `crosses` keep the model's order, by which `explain` of `rank/linear.rs` pairs
//! both.
//! Never here: the order of candidates and the link function (`rank.rs`). What a term contributes
//! also stands in `explain` of `rank/linear.rs`, in `rows.rs` and in `python/tidegate/linear.py`.

use crate::column::Column;
use crate::error::Error;
use crate::inputs::Inputs;
use crate::items::{Codes, Items};
use crate::linear::{Cross, FeatureName, FeatureSource, Linear};
use crate::matrix::{Matrix, RequestWeights, WIDTH};

/// What a request adds to a model, kept by each thread.
#[derive(Debug, Default)]
pub(crate) struct LinearScratch {
    pub(crate) weights: RequestWeights,
    pub(crate) tables: Vec<f64>,
}

/// A model joined with items.
#[derive(Debug)]
pub(crate) struct JoinedModel {
    /// What every request starts from: the intercept and the means of live crosses.
    constant: f64,
    /// One sum per item.
    pub(crate) base: Vec<f64>,
    base_max: f64,
    request_features: Vec<RequestFeature>,
    request_crosses: Vec<RequestCross>,
    number_crosses: Vec<NumberCross>,
    text_crosses: Vec<TextCross>,
    pub(crate) matrix: Matrix,
    columns: Vec<LiveColumn>,
    /// Per live text field, each row's place in the flat tables of a request.
    pub(crate) places: Vec<Vec<u32>>,
    tables_len: usize,
    item_names: Vec<FeatureName>,
    item_values: Vec<ItemValue>,
    pub(crate) features: Vec<Term>,
    pub(crate) crosses: Vec<(Term, Term)>,
}

/// Where one side of a model's term finds its raw value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Term {
    Item(usize),
    Request(usize),
}

#[derive(Debug)]
struct RequestFeature {
    slot: usize,
    weight: f64,
    mean: f64,
    scale: f64,
}

#[derive(Debug)]
struct RequestCross {
    left: usize,
    right: usize,
    weight: f64,
}

#[derive(Debug)]
struct NumberCross {
    slot: usize,
    column: usize,
    weight: f64,
}

#[derive(Debug)]
struct TextCross {
    slot: usize,
    place: usize,
    absent_place: usize,
    absent_value: f64,
    weight: f64,
}

#[derive(Debug)]
struct LiveColumn {
    centre: f64,
    spread_max: f64,
}

/// How the raw value of an item feature is found.
#[derive(Debug)]
enum ItemValue {
    Folded(Column),
    /// In the matrix; `fine` is the column of what `coarse` rounded away.
    Live {
        centre: f64,
        coarse: usize,
        fine: Option<usize>,
    },
    Text {
        code: Option<u32>,
        missing: f64,
    },
}

impl JoinedModel {
    /// Joins a model with items, taking their number columns.
    ///
    /// # Errors
    /// [`Error::Join`] if the items lack a column or a sum is not finite.
    pub(crate) fn new(model: &Linear, items: &mut Items, inputs: &Inputs) -> Result<Self, Error> {
        let (live, texts) = (Vec::new(), LiveTexts::default());
        let mut build = Build { model, inputs, live, texts, plan: Self::empty(model, items) };
        build.item_values(items)?;
        build.terms();
        build.request_terms();
        build.tables(items);
        build.crosses();
        let mut plan = build.plan;
        plan.fold(model, items)?;
        Ok(plan)
    }

    /// Computes what a request adds: weights and tables into `scratch`, the constant returned.
    /// `None` if some item's sum could overflow.
    pub(crate) fn weigh(
        &self,
        inputs: &Inputs,
        slots: &[f64],
        scratch: &mut LinearScratch,
    ) -> Option<f64> {
        let mut constant = self.constant;
        for feature in &self.request_features {
            let value = inputs.value(slots, feature.slot);
            constant += feature.weight * (value - feature.mean) / feature.scale;
        }
        for cross in &self.request_crosses {
            let product = inputs.value(slots, cross.left) * inputs.value(slots, cross.right);
            constant += cross.weight * product;
        }
        scratch.weights.clear();
        scratch.weights.resize(self.matrix.lanes_per_row(), [0.0; WIDTH]);
        for cross in &self.number_crosses {
            let weight = cross.weight * inputs.value(slots, cross.slot);
            scratch.weights[cross.column / WIDTH][cross.column % WIDTH] += weight;
        }
        scratch.tables.clear();
        scratch.tables.resize(self.tables_len, 0.0);
        for cross in &self.text_crosses {
            let weight = cross.weight * inputs.value(slots, cross.slot);
            scratch.tables[cross.absent_place] += weight * cross.absent_value;
            scratch.tables[cross.place] += weight;
        }
        self.bounded(constant, scratch)
    }

    /// Returns the raw value of the item feature `index` in a row.
    pub(crate) fn value(&self, items: &Items, index: usize, row: u32) -> f64 {
        match &self.item_values[index] {
            ItemValue::Folded(column) => column.value(row),
            ItemValue::Live { centre, coarse, fine } => {
                let difference = |column| f64::from(self.matrix.value(row, column));
                centre + difference(*coarse) + fine.map_or(0.0, difference)
            }
            ItemValue::Text { code, missing } => {
                let name = &self.item_names[index];
                match codes(items, name).rows()[row as usize] {
                    Codes::ABSENT => *missing,
                    found => f64::from(*code == Some(found)),
                }
            }
        }
    }

    /// Adds the columns' means to the constant, if no sum of any item can leave the finite range.
    fn bounded(&self, mut constant: f64, scratch: &LinearScratch) -> Option<f64> {
        let mut bound = 0.0;
        for (index, column) in self.columns.iter().enumerate() {
            let weight = scratch.weights[index / WIDTH][index % WIDTH];
            constant += weight * column.centre;
            bound += weight.abs() * column.spread_max;
        }
        let tables = scratch.tables.iter().fold(0.0, |max: f64, sum| max.max(sum.abs()));
        let tables_finite = scratch.tables.iter().all(|sum| sum.is_finite());
        bound += constant.abs() + self.base_max + tables * self.places.len() as f64;
        (tables_finite && bound.is_finite()).then_some(constant)
    }

    fn empty(model: &Linear, items: &Items) -> Self {
        Self {
            constant: model.intercept,
            base: vec![0.0; items.len()],
            base_max: 0.0,
            request_features: Vec::new(),
            request_crosses: Vec::new(),
            number_crosses: Vec::new(),
            text_crosses: Vec::new(),
            matrix: Matrix::from_columns(&[], 0),
            columns: Vec::new(),
            places: Vec::new(),
            tables_len: 0,
            item_names: Vec::new(),
            item_values: Vec::new(),
            features: Vec::new(),
            crosses: Vec::new(),
        }
    }

    /// Sums what depends on the item alone.
    fn fold(&mut self, model: &Linear, items: &Items) -> Result<(), Error> {
        let mut base = std::mem::take(&mut self.base);
        for (row, sum) in base.iter_mut().enumerate() {
            let row = row as u32;
            for (term, feature) in self.features.iter().zip(&model.features) {
                if let Term::Item(index) = *term {
                    let value = self.value(items, index, row);
                    *sum += feature.weight * (value - feature.mean) / feature.scale;
                }
            }
            for (terms, cross) in self.crosses.iter().zip(&model.crosses) {
                if let (Term::Item(left), Term::Item(right)) = *terms {
                    let product = self.value(items, left, row) * self.value(items, right, row);
                    *sum += cross.weight * (product - cross.mean) / cross.scale;
                }
            }
            if !sum.is_finite() {
                let reason = format!("item `{}` has no finite score", items.id(row));
                return Err(Error::Join(reason));
            }
            self.base_max = self.base_max.max(sum.abs());
        }
        self.base = base;
        Ok(())
    }
}

/// The steps of joining, in the order `JoinedModel::new` calls them.
struct Build<'a> {
    model: &'a Linear,
    inputs: &'a Inputs,
    /// Live columns as they are found, packed at the end of `item_values`.
    live: Vec<Vec<f32>>,
    texts: LiveTexts,
    plan: JoinedModel,
}

impl Build<'_> {
    fn item_values(&mut self, items: &mut Items) -> Result<(), Error> {
        let mut numbers = items.take_numbers();
        let names =
            self.model.names().into_iter().filter(|name| name.source == FeatureSource::Item);
        for name in names.cloned().collect::<Vec<_>>() {
            let missing = self.model.missing(&name);
            let value = match &name.equals {
                Some(text) => {
                    let codes = items.text(&name.field).ok_or_else(|| lacking(&name))?;
                    ItemValue::Text { code: codes.code(text), missing }
                }
                None => {
                    let values = numbers.remove(&name.field).ok_or_else(|| lacking(&name))?;
                    let column = Column::pack(values, missing).ok_or_else(|| wide(&name))?;
                    self.column(&name, column)
                }
            };
            self.plan.item_names.push(name);
            self.plan.item_values.push(value);
        }
        self.plan.matrix = Matrix::from_columns(&self.live, items.len());
        Ok(())
    }

    fn column(&mut self, name: &FeatureName, column: Column) -> ItemValue {
        if !self.model.crosses.iter().any(|cross| makes_live(cross, name)) {
            return ItemValue::Folded(column);
        }
        let Column { centre, coarse, fine } = column;
        let coarse = self.live_column(centre, coarse);
        ItemValue::Live { centre, coarse, fine: fine.map(|fine| self.live_column(0.0, fine)) }
    }

    fn live_column(&mut self, centre: f64, differences: Vec<f32>) -> usize {
        let spread_max = differences.iter().fold(0.0, |max: f32, x| max.max(x.abs()));
        self.plan.columns.push(LiveColumn { centre, spread_max: f64::from(spread_max) });
        self.live.push(differences);
        self.live.len() - 1
    }

    fn terms(&mut self) {
        let features = self.model.features.iter();
        self.plan.features = features.map(|feature| self.term(&feature.name)).collect();
        let crosses = self.model.crosses.iter();
        self.plan.crosses =
            crosses.map(|cross| (self.term(&cross.left), self.term(&cross.right))).collect();
    }

    fn term(&self, name: &FeatureName) -> Term {
        match name.source {
            FeatureSource::Item => {
                let index = self.plan.item_names.iter().position(|known| known == name);
                Term::Item(index.expect("every item feature of the model was joined"))
            }
            FeatureSource::User | FeatureSource::Context => Term::Request(self.inputs.slot(name)),
        }
    }

    fn request_terms(&mut self) {
        for (term, feature) in self.plan.features.iter().zip(&self.model.features) {
            if let Term::Request(slot) = *term {
                self.plan.request_features.push(RequestFeature {
                    slot,
                    weight: feature.weight,
                    mean: feature.mean,
                    scale: feature.scale,
                });
            }
        }
    }

    /// Gives each live text field its places: one per text that a live cross names, one for all
    /// other texts, one for absent.
    fn tables(&mut self, items: &Items) {
        for cross in &self.model.crosses {
            for side in [&cross.left, &cross.right] {
                if makes_live(cross, side) {
                    self.texts.add(side);
                }
            }
        }
        for field in &mut self.texts.0 {
            field.first = self.plan.tables_len;
            self.plan.tables_len += field.texts.len() + 2;
            let codes = items.text(&field.name).expect("joined in `item_values`");
            let mut places = vec![field.other(); codes.distinct()];
            for (index, text) in field.texts.iter().enumerate() {
                if let Some(code) = codes.code(text) {
                    places[code as usize] = field.first + index;
                }
            }
            let place = |code: &u32| places.get(*code as usize).map_or(field.absent(), |p| *p);
            self.plan.places.push(codes.rows().iter().map(|code| place(code) as u32).collect());
        }
    }

    fn crosses(&mut self) {
        for (terms, cross) in self.plan.crosses.iter().zip(&self.model.crosses) {
            let weight = cross.weight / cross.scale;
            let (slot, index) = match *terms {
                (Term::Item(_), Term::Item(_)) => continue,
                (Term::Request(left), Term::Request(right)) => {
                    self.plan.request_crosses.push(RequestCross { left, right, weight });
                    self.plan.constant -= weight * cross.mean;
                    continue;
                }
                (Term::Request(slot), Term::Item(index)) => (slot, index),
                (Term::Item(index), Term::Request(slot)) => (slot, index),
            };
            self.plan.constant -= weight * cross.mean;
            match &self.plan.item_values[index] {
                ItemValue::Live { coarse, fine, .. } => {
                    let columns = [Some(*coarse), *fine].into_iter().flatten();
                    let crosses = columns.map(|column| NumberCross { slot, column, weight });
                    self.plan.number_crosses.extend(crosses);
                }
                ItemValue::Text { missing, .. } => {
                    let (place, absent_place) = self.texts.places(&self.plan.item_names[index]);
                    let absent_value = *missing;
                    let cross = TextCross { slot, place, absent_place, absent_value, weight };
                    self.plan.text_crosses.push(cross);
                }
                ItemValue::Folded(_) => unreachable!("a crossed column is live"),
            }
        }
    }
}

/// The text fields that live crosses name.
#[derive(Default)]
struct LiveTexts(Vec<LiveText>);

struct LiveText {
    name: String,
    texts: Vec<String>,
    /// Its first place in the flat tables.
    first: usize,
}

impl LiveTexts {
    fn add(&mut self, name: &FeatureName) {
        let Some(text) = &name.equals else { return };
        let field = match self.0.iter_mut().find(|field| field.name == name.field) {
            Some(field) => field,
            None => {
                let name = name.field.clone();
                self.0.push(LiveText { name, texts: Vec::new(), first: 0 });
                self.0.last_mut().expect("just pushed")
            }
        };
        if !field.texts.contains(text) {
            field.texts.push(text.clone());
        }
    }

    /// Returns the place of a text and that of its field's absence.
    fn places(&self, name: &FeatureName) -> (usize, usize) {
        let field = self.0.iter().find(|field| field.name == name.field);
        let field = field.expect("every live text was added");
        let index = field.texts.iter().position(|text| Some(text) == name.equals.as_ref());
        (field.first + index.expect("every live text was added"), field.absent())
    }
}

impl LiveText {
    fn other(&self) -> usize {
        self.first + self.texts.len()
    }

    fn absent(&self) -> usize {
        self.other() + 1
    }
}

/// Whether a cross makes its side `name` live: it is of the item, the other side is not.
fn makes_live(cross: &Cross, name: &FeatureName) -> bool {
    let item = |side: &FeatureName| side.source == FeatureSource::Item;
    (cross.left == *name && item(name) && !item(&cross.right))
        || (cross.right == *name && item(name) && !item(&cross.left))
}

fn codes<'a>(items: &'a Items, name: &FeatureName) -> &'a Codes {
    items.text(&name.field).expect("joined in `item_values`")
}

fn lacking(name: &FeatureName) -> Error {
    Error::Join(format!("items were read without `{}`, which the model reads", name.field))
}

fn wide(name: &FeatureName) -> Error {
    Error::Join(format!("`{name}` spreads beyond what an f32 holds"))
}
