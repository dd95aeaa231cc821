//! Turns rows into small numbers: which side a value takes in each test that a model makes of a
//! feature.
//!
//! A scale holds the distinct limits of a feature and kind of missing value, sorted. The code of a
//! value is how many of them lie below it. Then `value <= limits[k]` is `code <= k`, exactly,
//! whatever the precision, and every node compares two bytes.
//!
//! 255 limits fit a column of bytes. More take more columns, where a value that lies beyond is 0 or
//! 255. A missing value is 0 in the column of nodes that send it left, and 255 in the column of
//! nodes that send it right. Each distinct set of categories of a feature has its own column
//! (`categories.rs`), and so has each value that it is asked to equal. Another side for missing
//! values takes another column.
//!
//! Invariant: a node's limit is below 255, so 0 is always left and 255 always right. Filling writes
//! every column, so codes of an earlier call do not matter.
//! That limits are no NaN is kept by the readers; `build.rs` refuses [`COLUMNS_MAX`] columns and
//! more.

use std::collections::HashMap;

use super::block::{LANES, LEFT, RIGHT};
use super::categories::CategorySets;
use super::forest::{Branch, Missing, Set, Split, Test};
use super::number::{Leaf, Number};

/// Limits of a column.
const LIMITS_MAX: usize = 255;

/// Columns a model may need, so that a step of a walk fits eight bytes.
pub(super) const COLUMNS_MAX: usize = 1 << 24;

#[derive(Debug)]
pub(crate) struct CodeColumns {
    /// These three are each in the order of features.
    scales: Vec<LimitScale>,
    groups: Vec<CategorySets>,
    equals: Vec<Equal>,
    /// Tables of all scales.
    limits: Vec<f64>,
    count: usize,
    /// What is at most so far from 0 is 0.
    zero_max: f64,
}

/// Where a node finds its side: right where the code is above `limit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodeTest {
    pub(super) column: u32,
    pub(super) limit: u8,
}

/// All limits of a feature whose missing values are the same.
#[derive(Debug)]
struct LimitScale {
    feature: usize,
    kind: MissingKind,
    tables: Vec<LimitTable>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum MissingKind {
    AsZero,
    Nan,
    ZeroOrNan,
}

/// Up to 255 limits, padded with NaN to 4, 16, 64 or 256.
#[derive(Debug)]
struct LimitTable {
    start: usize,
    size: usize,
    /// The column where missing values go left.
    left: Option<u32>,
    /// The column where missing values go right.
    right: Option<u32>,
}

/// A column of its own: left where a feature has this value.
#[derive(Debug)]
struct Equal {
    feature: usize,
    value: f64,
    missing: u8,
    column: usize,
}

/// What finds the place of a test.
#[derive(Debug)]
pub(crate) struct TestIndex {
    scales: HashMap<(u32, MissingKind), (usize, Vec<f64>)>,
    sets: HashMap<(u32, u32, Branch, Branch), u32>,
    /// By feature, bits of the value, and the side of a missing value.
    equals: HashMap<(u32, u64, Branch), u32>,
}

impl CodeColumns {
    /// Collects the tests of all splits, and returns what finds their places.
    pub(super) fn of<'a>(
        splits: impl Iterator<Item = &'a Split>,
        sets: &[Set],
        zero_max: f64,
    ) -> (Self, TestIndex) {
        let mut limits: HashMap<(u32, MissingKind), Vec<(f64, Branch)>> = HashMap::new();
        let (mut wanted, mut equals) = (Vec::new(), Vec::new());
        for split in splits {
            match split.test {
                Test::UpTo { limit, missing } => {
                    let (kind, side) = missing.split();
                    limits.entry((split.feature, kind)).or_default().push((limit, side));
                }
                Test::In { set, inside, missing } => {
                    wanted.push((split.feature, set, inside, missing));
                }
                Test::Is { value, missing } => {
                    equals.push((split.feature, value.to_bits(), missing));
                }
            }
        }
        let mut columns = Self {
            scales: Vec::new(),
            groups: Vec::new(),
            equals: Vec::new(),
            limits: Vec::new(),
            count: 0,
            zero_max,
        };
        let mut index =
            TestIndex { scales: HashMap::new(), sets: HashMap::new(), equals: HashMap::new() };
        let mut sorted: Vec<_> = limits.into_iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        for ((feature, kind), limits) in sorted {
            let place = columns.scales.len();
            let distinct = columns.add_scale(feature as usize, kind, limits);
            index.scales.insert((feature, kind), (place, distinct));
        }
        wanted.sort_unstable();
        wanted.dedup();
        columns.add_sets(&wanted, sets, &mut index);
        columns.add_equals(equals, &mut index);
        (columns, index)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the place of a split's test, which [`Self::of`] saw.
    pub(super) fn place(&self, split: &Split, index: &TestIndex) -> CodeTest {
        match split.test {
            Test::UpTo { limit, missing } => {
                let (kind, side) = missing.split();
                let (scale, distinct) = &index.scales[&(split.feature, kind)];
                let rank = distinct.partition_point(|other| *other < limit);
                let table = &self.scales[*scale].tables[rank / LIMITS_MAX];
                let column = if side == Branch::Left { table.left } else { table.right };
                CodeTest {
                    column: column.expect("a column for every side that a node asks for"),
                    limit: (rank % LIMITS_MAX) as u8,
                }
            }
            Test::In { set, inside, missing } => {
                CodeTest { column: index.sets[&(split.feature, set, inside, missing)], limit: 0 }
            }
            Test::Is { value, missing } => CodeTest {
                column: index.equals[&(split.feature, value.to_bits(), missing)],
                limit: 0,
            },
        }
    }

    fn add_scale(
        &mut self,
        feature: usize,
        kind: MissingKind,
        tests: Vec<(f64, Branch)>,
    ) -> Vec<f64> {
        let has = |side| tests.iter().any(|(_, other)| *other == side);
        let (left, right) = (has(Branch::Left), has(Branch::Right));
        let mut distinct: Vec<f64> = tests.iter().map(|(limit, _)| *limit).collect();
        distinct.sort_unstable_by(f64::total_cmp);
        distinct.dedup();
        let tables = distinct.chunks(LIMITS_MAX).map(|chunk| {
            let start = self.limits.len();
            let size = [4, 16, 64].into_iter().find(|size| chunk.len() < *size).unwrap_or(256);
            self.limits.extend(chunk);
            self.limits.resize(start + size, f64::NAN);
            let mut column = |wanted: bool| {
                self.count += usize::from(wanted);
                wanted.then_some(self.count as u32 - u32::from(wanted))
            };
            LimitTable { start, size, left: column(left), right: column(right) }
        });
        let tables = tables.collect();
        self.scales.push(LimitScale { feature, kind, tables });
        distinct
    }

    /// Gives each distinct set a column; `wanted` is in order, so a feature's stand together.
    fn add_sets(
        &mut self,
        wanted: &[(u32, u32, Branch, Branch)],
        sets: &[Set],
        index: &mut TestIndex,
    ) {
        let mut known: HashMap<(u32, &Set, Branch, Branch), u32> = HashMap::new();
        for of_feature in wanted.chunk_by(|a, b| a.0 == b.0) {
            let mut group = CategorySets::new(of_feature[0].0 as usize, self.count);
            for key @ (feature, set, inside, missing) in of_feature {
                let set = &sets[*set as usize];
                let column = known.entry((*feature, set, *inside, *missing));
                let column = *column.or_insert_with(|| group.add(set, *inside, *missing));
                index.sets.insert(*key, column);
            }
            self.count += group.count();
            self.groups.push(group.finish());
        }
    }

    fn add_equals(&mut self, mut wanted: Vec<(u32, u64, Branch)>, index: &mut TestIndex) {
        wanted.sort_unstable();
        wanted.dedup();
        for key @ (feature, bits, missing) in wanted {
            index.equals.insert(key, self.count as u32);
            self.equals.push(Equal {
                feature: feature as usize,
                value: f64::from_bits(bits),
                missing: if missing == Branch::Left { LEFT } else { RIGHT },
                column: self.count,
            });
            self.count += 1;
        }
    }

    /// Writes the codes of up to [`LANES`] rows of `features` values each.
    pub(super) fn fill_block<L: Leaf, N: Number>(
        &self,
        rows: &[N],
        features: usize,
        codes: &mut [[u8; LANES]],
    ) {
        for scale in &self.scales {
            let values = self.gather::<L, N>(rows, features, scale.feature);
            self.fill_scale(scale, &values, codes);
        }
        for group in &self.groups {
            let values = self.gather::<L, N>(rows, features, group.feature);
            group.fill_block(values.map(L::category), codes);
        }
        for equal in &self.equals {
            let values = self.gather::<L, N>(rows, features, equal.feature);
            codes[equal.column] = values.map(|value| equal.code(value));
        }
    }

    /// Writes the codes of one row.
    pub(super) fn fill_row<L: Leaf, N: Number>(&self, row: &[N], codes: &mut [u8]) {
        for scale in &self.scales {
            self.fill_value_of_scale(scale, self.zeroed(L::value(row[scale.feature])), codes);
        }
        for group in &self.groups {
            group.fill_row(L::category(L::value(row[group.feature])), codes);
        }
        for equal in &self.equals {
            codes[equal.column] = equal.code(self.zeroed(L::value(row[equal.feature])));
        }
    }

    /// Writes the codes of one feature of a block of rows.
    pub(super) fn fill_feature<L: Leaf>(
        &self,
        feature: usize,
        values: &[f64; LANES],
        codes: &mut [[u8; LANES]],
    ) {
        let values = values.map(|value| self.zeroed(L::value(value)));
        for scale in of_feature(&self.scales, feature, |scale| scale.feature) {
            self.fill_scale(scale, &values, codes);
        }
        for group in of_feature(&self.groups, feature, |group| group.feature) {
            group.fill_block(values.map(L::category), codes);
        }
        for equal in of_feature(&self.equals, feature, |equal| equal.feature) {
            codes[equal.column] = values.map(|value| equal.code(value));
        }
    }

    /// Writes the codes of one feature of one row.
    pub(super) fn fill_value<L: Leaf>(&self, feature: usize, value: f64, codes: &mut [u8]) {
        let value = self.zeroed(L::value(value));
        for scale in of_feature(&self.scales, feature, |scale| scale.feature) {
            self.fill_value_of_scale(scale, value, codes);
        }
        for group in of_feature(&self.groups, feature, |group| group.feature) {
            group.fill_row(L::category(value), codes);
        }
        for equal in of_feature(&self.equals, feature, |equal| equal.feature) {
            codes[equal.column] = equal.code(value);
        }
    }

    /// Returns the feature of each column.
    pub(super) fn features(&self) -> Vec<usize> {
        let mut features = vec![0; self.count];
        let of_scales = self.scales.iter().map(|scale| scale.feature);
        let of_groups = self.groups.iter().map(|group| group.feature);
        for feature in of_scales.chain(of_groups).chain(self.equals.iter().map(|one| one.feature)) {
            self.columns_of(feature).for_each(|column| features[column] = feature);
        }
        features
    }

    /// Returns the columns of a feature.
    pub(super) fn columns_of(&self, feature: usize) -> impl Iterator<Item = usize> {
        let scales = of_feature(&self.scales, feature, |scale| scale.feature).iter();
        let tables = scales.flat_map(|scale| &scale.tables);
        let of_scales = tables.flat_map(|table| [table.left, table.right]).flatten();
        let groups = of_feature(&self.groups, feature, |group| group.feature).iter();
        let equals = of_feature(&self.equals, feature, |equal| equal.feature).iter();
        of_scales
            .map(|column| column as usize)
            .chain(groups.flat_map(CategorySets::columns))
            .chain(equals.map(|equal| equal.column))
    }

    fn fill_scale(&self, scale: &LimitScale, values: &[f64; LANES], codes: &mut [[u8; LANES]]) {
        for table in &scale.tables {
            let ranks = self.rank_block(table, &scale.kind.compared(*values));
            for (column, missing) in [(table.left, LEFT), (table.right, RIGHT)] {
                let Some(column) = column else { continue };
                let codes = &mut codes[column as usize];
                *codes = ranks;
                scale.kind.overwrite(values, codes, missing);
            }
        }
    }

    fn fill_value_of_scale(&self, scale: &LimitScale, value: f64, codes: &mut [u8]) {
        let [compared] = scale.kind.compared([value]);
        for table in &scale.tables {
            let [rank] = self.rank_block(table, &[compared]);
            for (column, missing) in [(table.left, LEFT), (table.right, RIGHT)] {
                let Some(column) = column else { continue };
                let code = std::slice::from_mut(&mut codes[column as usize]);
                code[0] = rank;
                scale.kind.overwrite(&[value], code, missing);
            }
        }
    }

    /// One feature of up to [`LANES`] rows; 0 for rows that are not there.
    fn gather<L: Leaf, N: Number>(
        &self,
        rows: &[N],
        features: usize,
        feature: usize,
    ) -> [f64; LANES] {
        let mut values = [0.0; LANES];
        for (value, row) in values.iter_mut().zip(rows.chunks_exact(features)) {
            *value = self.zeroed(L::value(row[feature]));
        }
        values
    }

    fn zeroed(&self, value: f64) -> f64 {
        if value.abs() <= self.zero_max { 0.0 } else { value }
    }

    fn rank_block<const ROWS: usize>(
        &self,
        table: &LimitTable,
        values: &[f64; ROWS],
    ) -> [u8; ROWS] {
        let limits = &self.limits[table.start..table.start + table.size];
        match table.size {
            4 => rank::<4, ROWS>(limits, values),
            16 => rank::<16, ROWS>(limits, values),
            64 => rank::<64, ROWS>(limits, values),
            _ => rank::<256, ROWS>(limits, values),
        }
    }
}

/// The part of a list in order of features that is of this one.
fn of_feature<T>(sorted: &[T], feature: usize, of: impl Fn(&T) -> usize) -> &[T] {
    let rest = &sorted[sorted.partition_point(|one| of(one) < feature)..];
    &rest[..rest.partition_point(|one| of(one) == feature)]
}

/// Counts the limits below each value; NaN is above none and below all.
#[inline]
fn rank<const SIZE: usize, const ROWS: usize>(limits: &[f64], values: &[f64; ROWS]) -> [u8; ROWS] {
    let limits: &[f64; SIZE] = limits.try_into().expect("a table has one of four sizes");
    let mut ranks = [0_usize; ROWS];
    let mut half = SIZE / 2;
    while half > 0 {
        for (rank, value) in ranks.iter_mut().zip(values) {
            let below = limits[(*rank + half - 1) % SIZE] < *value;
            *rank += if below { half } else { 0 };
        }
        half /= 2;
    }
    ranks.map(|rank| rank as u8)
}

impl Equal {
    fn code(&self, value: f64) -> u8 {
        match value {
            _ if value == self.value => LEFT,
            _ if value.is_nan() => self.missing,
            _ => RIGHT,
        }
    }
}

impl MissingKind {
    /// Returns the values as they are compared.
    fn compared<const ROWS: usize>(self, values: [f64; ROWS]) -> [f64; ROWS] {
        match self {
            Self::AsZero => values.map(|value| if value.is_nan() { 0.0 } else { value }),
            Self::Nan | Self::ZeroOrNan => values,
        }
    }

    /// Gives missing values their code.
    fn overwrite(self, values: &[f64], codes: &mut [u8], missing: u8) {
        let codes = codes.iter_mut().zip(values);
        match self {
            Self::AsZero => {}
            Self::Nan => codes.for_each(|(code, value)| {
                *code = if value.is_nan() { missing } else { *code };
            }),
            Self::ZeroOrNan => codes.for_each(|(code, value)| {
                *code = if value.is_nan() || *value == 0.0 { missing } else { *code };
            }),
        }
    }
}

impl Missing {
    fn split(self) -> (MissingKind, Branch) {
        match self {
            Self::AsZero => (MissingKind::AsZero, Branch::Left),
            Self::Nan(side) => (MissingKind::Nan, side),
            Self::ZeroOrNan(side) => (MissingKind::ZeroOrNan, side),
        }
    }
}
