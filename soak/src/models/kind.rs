//! The models that predict: four kinds, whose files are written here and whose answers are known
//! to the bit.
//!
//! Weights, leaves and numbers of rows are small multiples of a power of two. So each sum is exact,
//! in floats too, whatever its order. Versions differ in all weights. They agree at one row, the
//! golden one, by which other models are refused; the model that ranks has no golden file.
//! Refuses: how files are spoilt (`damage.rs`), and how they are asked (`ask.rs`).

use std::fmt::Write;

use serde_json::{Value, json};

use super::graph;

/// Versions of each model.
pub(super) const VERSIONS: usize = 5;
/// Numbers of a row.
pub(super) const COLUMNS: usize = 4;
/// Items that are ranked.
pub(super) const ITEMS: usize = 60;
/// What linear models call the columns; the trees leave out the source.
pub(super) const NAMES: [&str; COLUMNS] = ["item.a", "item.b", "item.c", "item.d"];

const INTERCEPT: f64 = 3.0;
const TREES: usize = 60;
/// What every tree gives on its left side, where the golden row goes.
const LEFT: f64 = 0.25;
const BIASES: [f64; 2] = [1.0, 2.0];

/// A kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `tidegate-linear-1` over rows.
    Line,
    /// The same over items.
    Ranks,
    /// LightGBM's text.
    Trees,
    /// A graph in ONNX with two outputs a row.
    Graph,
}

/// All kinds, in the order of the configuration.
pub(super) const KINDS: [Kind; 4] = [Kind::Line, Kind::Ranks, Kind::Trees, Kind::Graph];

impl Kind {
    /// The model's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Ranks => "ranks",
            Self::Trees => "trees",
            Self::Graph => "graph",
        }
    }

    /// The name of its file.
    pub(super) fn file(self) -> &'static str {
        match self {
            Self::Line => "line.json",
            Self::Ranks => "ranks.json",
            Self::Trees => "trees.txt",
            Self::Graph => "graph.onnx",
        }
    }

    /// What it calls its input.
    pub(super) fn input(self) -> &'static str {
        if self == Self::Graph { "X" } else { "input" }
    }

    /// What it calls its columns, where they can be given one by one.
    pub(super) fn columns(self) -> Option<[&'static str; COLUMNS]> {
        match self {
            Self::Line => Some(NAMES),
            Self::Trees => Some(NAMES.map(|name| &name["item.".len()..])),
            Self::Ranks | Self::Graph => None,
        }
    }

    /// The file of a version.
    pub(super) fn bytes(self, version: usize) -> Vec<u8> {
        match self {
            Self::Line | Self::Ranks => line(self.name(), version).to_string().into_bytes(),
            Self::Trees => trees(version).into_bytes(),
            Self::Graph => graph::bytes(&weights(version), &BIASES),
        }
    }

    /// What a version answers to rows.
    pub(super) fn expected(self, version: usize, rows: &[f64]) -> Vec<f64> {
        let rows = rows.chunks_exact(COLUMNS);
        match self {
            Self::Line | Self::Ranks => rows.map(|row| line_score(version, row)).collect(),
            Self::Trees => rows.map(|row| trees_score(version, row)).collect(),
            Self::Graph => rows.flat_map(|row| graph_scores(version, row)).collect(),
        }
    }

    /// A request and the answer that all versions give to it.
    pub(super) fn golden(self) -> Option<Value> {
        let (number, output, numbers) = match self {
            Self::Line => (0.0, "predict", vec![INTERCEPT]),
            Self::Ranks => return None,
            Self::Trees => (-100.0, "predict", vec![TREES as f64 * LEFT]),
            Self::Graph => (0.0, "Y", BIASES.to_vec()),
        };
        let tensor = |name: &str, width: usize| {
            let data = vec![number; width];
            json!({"name": name, "shape": [1, width], "datatype": "FP32", "data": data})
        };
        let inputs: Vec<Value> = match self.columns() {
            Some(names) => names.iter().map(|name| tensor(name, 1)).collect(),
            None => vec![tensor(self.input(), COLUMNS)],
        };
        Some(json!({"inputs": inputs, "outputs": [{"name": output, "data": numbers}]}))
    }
}

/// The row of an item.
pub(super) fn item_row(item: usize) -> [f64; COLUMNS] {
    let number = |place: usize| ((item * 29 + place * 13) % 64) as f64 / 4.0 - 8.0;
    [1.0 + (item % 7) as f64, number(1), number(2), number(3)]
}

/// The items file.
pub(super) fn items() -> String {
    let line = |item: usize| {
        let [a, b, c, d] = item_row(item);
        json!({"id": item.to_string(), "a": a, "b": b, "c": c, "d": d}).to_string() + "\n"
    };
    (0..ITEMS).map(line).collect()
}

/// Differs between any two of 64 versions.
fn weight(version: usize, place: usize) -> f64 {
    ((version * 37 + place * 11) % 64) as f64 / 8.0 - 4.0
}

fn line(name: &str, version: usize) -> Value {
    let feature =
        |(place, name): (usize, &&str)| json!({"name": name, "weight": weight(version, place)});
    let features: Vec<Value> = NAMES.iter().enumerate().map(feature).collect();
    json!({
        "format": "tidegate-linear-1", "name": name, "version": format!("v{version}"),
        "intercept": INTERCEPT, "features": features,
    })
}

/// An absent number is 0: the mean, which the file leaves out.
fn line_score(version: usize, row: &[f64]) -> f64 {
    let terms = row
        .iter()
        .enumerate()
        .map(|(place, number)| present(*number, 0.0) * weight(version, place));
    INTERCEPT + terms.sum::<f64>()
}

/// The column and the limit of a tree's one split.
fn split(tree: usize) -> (usize, f64) {
    (tree % COLUMNS, (tree % 13) as f64 - 6.125)
}

fn trees(version: usize) -> String {
    let mut text = "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n\
        max_feature_idx=3\nobjective=regression\nfeature_names=a b c d\n\
        feature_infos=[-8:8] [-8:8] [-8:8] [-8:8]\n\n"
        .to_owned();
    for tree in 0..TREES {
        let ((column, limit), right) = (split(tree), weight(version, tree));
        // Writing to memory does not fail.
        let _ = write!(
            text,
            "Tree={tree}\nnum_leaves=2\nnum_cat=0\nsplit_feature={column}\nsplit_gain=1\n\
             threshold={limit}\ndecision_type=0\nleft_child=-1\nright_child=-2\n\
             leaf_value={LEFT} {right}\nleaf_weight=1 1\nleaf_count=1 1\ninternal_value=0\n\
             internal_weight=2\ninternal_count=2\nis_linear=0\nshrinkage=1\n\n\n"
        );
    }
    text + "end of trees\n"
}

/// Where no value was missing in training, LightGBM takes one for 0.
fn trees_score(version: usize, row: &[f64]) -> f64 {
    let leaf = |tree: usize| {
        let (column, limit) = split(tree);
        if present(row[column], 0.0) <= limit { LEFT } else { weight(version, tree) }
    };
    (0..TREES).map(leaf).sum()
}

fn weights(version: usize) -> [[f64; 2]; COLUMNS] {
    std::array::from_fn(|column| [0, 1].map(|output| weight(version, 2 * column + output)))
}

fn graph_scores(version: usize, row: &[f64]) -> [f64; 2] {
    let weights = weights(version);
    [0, 1].map(|output| {
        let terms = row.iter().zip(&weights).map(|(number, weights)| number * weights[output]);
        BIASES[output] + terms.sum::<f64>()
    })
}

fn present(number: f64, otherwise: f64) -> f64 {
    if number.is_nan() { otherwise } else { number }
}
