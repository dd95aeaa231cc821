//! Reads LightGBM's text model (`GBDT::LoadModelFromString` and `Tree::Tree` of LightGBM 4).
//!
//! A file is a header of `key=value` lines, then trees of such lines, each begun by `Tree=`, then
//! `end of trees` or the list of importances. A file that ends before that line was cut short. Keys
//! that are not known are ignored, and of a key given twice the last counts.
//!
//! Invariant: children, features and sets exist, leaves are finite, and no limit is NaN. Problems
//! name the header or a tree and a key, or a line or byte; the first one ends reading. Of a file
//! that was cut short they may name `model` only.
//! That splits form a tree is checked by `build.rs`; scores of margins are made in `transform.rs`.
//! A new objective is an arm of `transform` here, with a model in `golden/trees.py`.
//! Refuses: unknown objectives and versions, a number of trees other than that of `tree_sizes` in
//! the header.

use std::collections::HashMap;
use std::str::FromStr;

use super::about::{AboutTrees, TreeFormat};
use super::forest::{
    Branch, Child, Covers, FEATURES_MAX, Forest, LeafFunction, Merge, Missing, OUTPUTS_MAX, Set,
    Split, Test, Tree,
};
use super::transform::OutputTransform;
use crate::error::Problem;

/// Bits of `decision_type` (`tree.h`).
const CATEGORICAL: i8 = 1;
const DEFAULT_LEFT: i8 = 2;

/// LightGBM's zero (`kZeroThreshold`, meta.h): its predictor leaves out of a row what is at most so
/// far from 0 (`RowPairFunctionFrom…`, c_api.cpp).
const ZERO_MAX: f64 = 1e-35_f32 as f64;

/// Reads a model, with counts of training rows where `has_covers` asks for them.
///
/// # Errors
/// The first problem, with its line or its tree and key.
pub(super) fn read(bytes: &[u8], has_covers: bool) -> Result<(AboutTrees, Forest<f64>), Problem> {
    let text = str::from_utf8(bytes)
        .map_err(|error| Problem::new(format!("byte {}", error.valid_up_to()), "is not UTF-8"))?;
    let mut lines = NumberedLines { lines: text.lines().enumerate().peekable() };
    let ends = |line: &str| line.starts_with("Tree=") || line == "end of trees";
    let header = lines.section("header".to_owned(), ends);
    let shape = Header::of(&header)?;
    let (transform, objective) = transform(&header, shape.outputs)?;
    let (mut trees, mut sets) = (Vec::new(), Vec::new());
    while lines.starts_tree()? {
        let section = lines.section(format!("tree {}", trees.len()), str::is_empty);
        let mut tree = tree(&section, &shape, trees.len(), &mut sets)?;
        if has_covers {
            tree.covers = covers(&section, &tree)?;
        }
        trees.push(tree);
    }
    check_count(&header, trees.len(), shape.outputs)?;
    let about = AboutTrees {
        unused: 0,
        format: TreeFormat::LightGbm,
        objective,
        features: shape.features,
        feature_names: shape.feature_names,
        margins: shape.outputs,
        scores: transform.scores(shape.outputs),
        trees: trees.len(),
    };
    let is_averaged = header.values.contains_key("average_output");
    let divisor = if is_averaged { (trees.len() / shape.outputs).max(1) } else { 1 };
    let base = vec![0.0; shape.outputs];
    let forest = Forest {
        features: shape.features,
        base,
        trees,
        sets,
        transform,
        divisor,
        merge: Merge::Sum,
        zero_max: ZERO_MAX,
    };
    Ok((about, forest))
}

/// Lines with their numbers, from 0.
struct NumberedLines<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
}

/// Lines of `key=value`.
struct Section<'a> {
    at: String,
    values: HashMap<&'a str, &'a str>,
}

struct Header {
    outputs: usize,
    features: usize,
    feature_names: Vec<String>,
}

impl<'a> NumberedLines<'a> {
    /// Reads lines up to one that ends the section, which is left.
    fn section(&mut self, at: String, ends: impl Fn(&str) -> bool) -> Section<'a> {
        let mut values = HashMap::new();
        while let Some((_, line)) = self.lines.next_if(|(_, line)| !ends(line)) {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            values.insert(key, value);
        }
        Section { at, values }
    }

    /// Passes blank lines and `Tree=`; false where the trees end.
    fn starts_tree(&mut self) -> Result<bool, Problem> {
        while self.lines.next_if(|(_, line)| line.is_empty()).is_some() {}
        match self.lines.next() {
            Some((_, line)) if line.starts_with("Tree=") => Ok(true),
            Some((_, "end of trees" | "feature importances:" | "feature_importances:")) => {
                Ok(false)
            }
            Some((number, _)) => {
                let at = format!("line {}", number + 1);
                Err(Problem::new(at, "expected `Tree=` or `end of trees`"))
            }
            None => Err(Problem::new("model", "ends before `end of trees`: it was cut short")),
        }
    }
}

impl Section<'_> {
    fn text(&self, key: &str) -> Result<&str, Problem> {
        let value = self.values.get(key).copied();
        value.ok_or_else(|| Problem::new(&self.at, format!("has no line `{key}=`")))
    }

    fn number<T: FromStr>(&self, key: &str) -> Result<T, Problem> {
        let text = self.text(key)?;
        text.trim().parse().map_err(|_| self.problem(key, format!("`{text}` is no such number")))
    }

    fn numbers<T: FromStr>(&self, key: &str, count: usize) -> Result<Vec<T>, Problem> {
        let mut numbers = Vec::new();
        for text in self.text(key)?.split_ascii_whitespace() {
            let parsed = text.parse();
            let number =
                parsed.map_err(|_| self.problem(key, format!("`{text}` is no such number")))?;
            numbers.push(number);
        }
        match numbers.len() == count {
            true => Ok(numbers),
            false => {
                let reason = format!("holds {} numbers, must hold {count}", numbers.len());
                Err(self.problem(key, reason))
            }
        }
    }

    fn problem(&self, key: &str, reason: impl Into<String>) -> Problem {
        Problem::new(format!("{}: `{key}`", self.at), reason)
    }
}

impl Header {
    fn of(header: &Section<'_>) -> Result<Self, Problem> {
        if let Some(version) = header.values.get("version")
            && !["v2", "v3", "v4"].contains(version)
        {
            let reason = format!("`{version}` is not known here; `v2`, `v3` and `v4` are");
            return Err(header.problem("version", reason));
        }
        let classes = header.number("num_class")?;
        let outputs = match header.values.contains_key("num_tree_per_iteration") {
            true => header.number("num_tree_per_iteration")?,
            false => classes,
        };
        if !(1..=OUTPUTS_MAX).contains(&outputs) {
            let reason = format!("is {outputs}, must be from 1 to {OUTPUTS_MAX}");
            return Err(header.problem("num_tree_per_iteration", reason));
        }
        let last: usize = header.number("max_feature_idx")?;
        if last >= FEATURES_MAX {
            let reason = format!("is {last}, must be below {FEATURES_MAX}");
            return Err(header.problem("max_feature_idx", reason));
        }
        let names = header.text("feature_names")?.split(' ');
        let feature_names: Vec<String> = names.map(str::to_owned).collect();
        if feature_names.len() != last + 1 {
            let reason = format!("holds {} names, must hold {}", feature_names.len(), last + 1);
            return Err(header.problem("feature_names", reason));
        }
        Ok(Self { outputs, features: last + 1, feature_names })
    }
}

fn check_count(header: &Section<'_>, trees: usize, outputs: usize) -> Result<(), Problem> {
    if let Some(sizes) = header.values.get("tree_sizes") {
        let wanted = sizes.split_ascii_whitespace().count();
        if wanted != trees {
            let reason = format!("names {wanted} trees, the file holds {trees}");
            return Err(header.problem("tree_sizes", reason));
        }
    }
    match trees.is_multiple_of(outputs) {
        true => Ok(()),
        false => {
            let reason = format!("{trees} trees do not divide among {outputs} outputs");
            Err(header.problem("num_tree_per_iteration", reason))
        }
    }
}

/// The transform of an objective (`CreateObjectiveFunction`), and its text.
fn transform(header: &Section<'_>, outputs: usize) -> Result<(OutputTransform, String), Problem> {
    let Some(text) = header.values.get("objective").copied() else {
        return Ok((OutputTransform::Identity, String::new()));
    };
    let mut words = text.split(' ');
    let name = words.next().unwrap_or_default();
    let rest: Vec<&str> = words.collect();
    let steepness = || {
        let given = rest.iter().find_map(|word| word.strip_prefix("sigmoid:"));
        let parsed = given.and_then(|text| text.parse::<f64>().ok());
        parsed.filter(|steepness| *steepness > 0.0 && steepness.is_finite()).ok_or_else(|| {
            header.problem("objective", format!("`{text}` needs a positive `sigmoid:`"))
        })
    };
    let transform = match name {
        "binary" => OutputTransform::Logistic { steepness: steepness()? },
        "multiclassova" | "multiclass_ova" | "ova" | "ovr" => {
            OutputTransform::Logistic { steepness: steepness()? }
        }
        "multiclass" | "softmax" => OutputTransform::Softmax,
        "cross_entropy" | "xentropy" => OutputTransform::Logistic { steepness: 1.0 },
        "cross_entropy_lambda" | "xentlambda" => OutputTransform::Softplus,
        "poisson" | "gamma" | "tweedie" => OutputTransform::Exp,
        "regression" if rest.contains(&"sqrt") => OutputTransform::SignedSquare,
        "regression" | "regression_l1" | "huber" | "fair" | "quantile" | "mape" | "lambdarank"
        | "rank_xendcg" | "custom" | "none" | "null" | "na" => OutputTransform::Identity,
        _ => {
            return Err(header.problem("objective", format!("`{name}` is not known here")));
        }
    };
    let one_output = !matches!(name, "multiclassova" | "multiclass_ova" | "ova" | "ovr")
        && matches!(
            transform,
            OutputTransform::Logistic { .. }
                | OutputTransform::Softplus
                | OutputTransform::Exp
                | OutputTransform::SignedSquare
        );
    match one_output && outputs > 1 {
        true => {
            let reason = format!("`{name}` gives one score, the file holds {outputs} trees a turn");
            Err(header.problem("objective", reason))
        }
        false => Ok((transform, text.to_owned())),
    }
}

fn tree(
    section: &Section<'_>,
    shape: &Header,
    number: usize,
    sets: &mut Vec<Set>,
) -> Result<Tree<f64>, Problem> {
    let output = (number % shape.outputs) as u32;
    let count: usize = section.number("num_leaves")?;
    let is_linear = section.values.get("is_linear").is_some_and(|text| text.trim() != "0");
    let leaves: Vec<f64> = section.numbers("leaf_value", count)?;
    if let Some(leaf) = leaves.iter().position(|value| !value.is_finite()) {
        return Err(section.problem("leaf_value", format!("leaf {leaf} is not finite")));
    }
    let Some(inner) = count.checked_sub(1) else {
        return Err(section.problem("num_leaves", "is 0"));
    };
    let functions = match is_linear {
        true => functions(section, count, shape.features)?,
        false => Vec::new(),
    };
    if inner == 0 {
        return Ok(Tree { functions, ..Tree::of_leaf(output, leaves[0]) });
    }
    let nodes = Nodes::of(section, inner, sets)?;
    let splits = (0..inner).map(|node| nodes.split(section, node, shape.features));
    let splits = splits.collect::<Result<_, _>>()?;
    let covers = Covers::default();
    Ok(Tree { output, outputs: 1, root: Child::Split(0), splits, leaves, functions, covers })
}

/// Reads how many rows of the training came to each node; a tree of one leaf needs none.
fn covers(section: &Section<'_>, tree: &Tree<f64>) -> Result<Covers, Problem> {
    let numbers = |key, count| match section.values.contains_key(key) && count > 0 {
        true => section.numbers(key, count),
        false => Ok(Vec::new()),
    };
    let splits = numbers("internal_count", tree.splits.len())?;
    Ok(match numbers("leaf_count", if splits.is_empty() { 0 } else { tree.leaves.len() })? {
        leaves if leaves.is_empty() => Covers::default(),
        leaves => Covers { splits, leaves },
    })
}

/// Reads the linear functions of a tree's leaves (`linear_tree`).
fn functions(
    section: &Section<'_>,
    leaves: usize,
    features: usize,
) -> Result<Vec<LeafFunction>, Problem> {
    let constants: Vec<f64> = section.numbers("leaf_const", leaves)?;
    let counts: Vec<usize> = section.numbers("num_features", leaves)?;
    let all = counts.iter().fold(0, |sum: usize, count| sum.saturating_add(*count));
    let used: Vec<u32> = section.numbers("leaf_features", all)?;
    let coefficients: Vec<f64> = section.numbers("leaf_coeff", all)?;
    if let Some(feature) = used.iter().find(|feature| **feature as usize >= features) {
        let reason = format!("feature {feature} is none of {features}");
        return Err(section.problem("leaf_features", reason));
    }
    if !constants.iter().chain(&coefficients).all(|number| number.is_finite()) {
        return Err(section.problem("leaf_coeff", "or `leaf_const` holds what is not finite"));
    }
    let mut terms = used.into_iter().zip(coefficients);
    let function = |(constant, count): (f64, usize)| LeafFunction {
        constant,
        terms: terms.by_ref().take(count).collect(),
    };
    Ok(constants.into_iter().zip(counts).map(function).collect())
}

/// The arrays of a tree's inner nodes.
struct Nodes {
    features: Vec<usize>,
    thresholds: Vec<f64>,
    kinds: Vec<i8>,
    left: Vec<i64>,
    right: Vec<i64>,
    /// The first of the tree's sets, and how many it has.
    sets: (usize, usize),
}

impl Nodes {
    fn of(section: &Section<'_>, inner: usize, sets: &mut Vec<Set>) -> Result<Self, Problem> {
        let first_set = sets.len();
        let count: usize = section.number("num_cat")?;
        if count > 0 {
            // One more than the sets, none of which is without text.
            let bounds: Vec<usize> = section.numbers("cat_boundaries", count.saturating_add(1))?;
            let words = bounds.last().copied().unwrap_or_default();
            let words: Vec<u32> = section.numbers("cat_threshold", words)?;
            for pair in bounds.windows(2) {
                let Some(words) = words.get(pair[0]..pair[1]) else {
                    return Err(section.problem("cat_boundaries", "do not rise"));
                };
                sets.push(Set::of_bits(words));
            }
        }
        let kinds = match section.values.contains_key("decision_type") {
            true => section.numbers("decision_type", inner)?,
            false => vec![0; inner],
        };
        Ok(Self {
            features: section.numbers("split_feature", inner)?,
            thresholds: section.numbers("threshold", inner)?,
            kinds,
            left: section.numbers("left_child", inner)?,
            right: section.numbers("right_child", inner)?,
            sets: (first_set, count),
        })
    }

    fn split(&self, section: &Section<'_>, node: usize, features: usize) -> Result<Split, Problem> {
        let problem = |key, reason: String| section.problem(key, format!("node {node}: {reason}"));
        let feature = self.features[node];
        if feature >= features {
            let reason = format!("feature {feature} is none of {features}");
            return Err(problem("split_feature", reason));
        }
        let child = |key, child: i64| {
            let leaf = child < 0;
            let index = if leaf { !child } else { child };
            let room = self.left.len() as i64 + i64::from(leaf);
            match (index < room, leaf) {
                (true, true) => Ok(Child::Leaf(index as u32)),
                (true, false) => Ok(Child::Split(index as u32)),
                (false, _) => Err(problem(key, format!("child {child} does not exist"))),
            }
        };
        let test = self.test(node).map_err(|(key, reason)| problem(key, reason))?;
        let left = child("left_child", self.left[node])?;
        let right = child("right_child", self.right[node])?;
        Ok(Split { feature: feature as u32, test, left, right })
    }

    fn test(&self, node: usize) -> Result<Test, (&'static str, String)> {
        let (kind, limit) = (self.kinds[node], self.thresholds[node]);
        if kind & CATEGORICAL != 0 {
            let (first, count) = self.sets;
            let index = limit as usize;
            if !(limit >= 0.0 && index < count) {
                return Err(("threshold", format!("set {limit} is none of {count}")));
            }
            let set = (first + index) as u32;
            return Ok(Test::In { set, inside: Branch::Left, missing: Branch::Right });
        }
        if limit.is_nan() {
            return Err(("threshold", "is not a number".to_owned()));
        }
        let side = if kind & DEFAULT_LEFT != 0 { Branch::Left } else { Branch::Right };
        let missing = match kind >> 2 & 3 {
            0 => Missing::AsZero,
            1 => Missing::ZeroOrNan(side),
            2 => Missing::Nan(side),
            _ => return Err(("decision_type", format!("{kind} names no way of missing"))),
        };
        Ok(Test::UpTo { limit, missing })
    }
}

#[cfg(test)]
mod tests;
