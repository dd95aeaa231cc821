//! Reads XGBoost's model out of a [`Document`] of JSON or UBJSON (files since 1.0).
//!
//! The leaves of a dart tree are multiplied by its weight here. XGBoost rounds that product to a
//! float before it adds it, so nothing is lost. Base scores become margins here too. Of a model
//! that was stopped early, trees count up to its attribute `best_iteration`, as in XGBoost's
//! interface of scikit-learn. [`Iterations::All`] counts all, as `Booster.predict` does. Categories
//! are numbers; the names that XGBoost 3.1 keeps for data frames are not read.
//!
//! Invariant: children, features, outputs and sets exist, leaves are finite, and no limit is NaN.
//! The first problem ends reading, with the path of its key.
//! Bytes are parsed in `json.rs` and `ubjson.rs`; that nodes form a tree is checked by `build.rs`.
//! A new objective is an arm of `Rule::of`, with a model in `golden/trees.py`; formulas are in
//! `transform.rs`.
//! Leaves may hold a value for each output (`multi_output_tree`), in files since 3.2.
//! Refuses: unknown objectives, and such leaves in older files. A linear booster is read in
//! `gblinear.rs`.
//! Source: doc/model.schema and `RegTree::LoadModel` of XGBoost 3.

use super::about::{AboutTrees, Iterations, TreeFormat};
use super::document::{Document, ValueAt};
use super::forest::{
    Branch, Child, Covers, FEATURES_MAX, Forest, Merge, Missing, OUTPUTS_MAX, Set, Split, Test,
    Tree,
};
use super::gblinear::LinearBooster;
use super::transform::OutputTransform;
use crate::error::Problem;

/// XGBoost's bound of a probability (`kRtEps`, base.h).
const PROBABILITY_MIN: f32 = 1e-6;

/// What XGBoost trained.
pub(super) enum Booster {
    Trees(Forest<f32>),
    Linear(LinearBooster),
}

/// Reads a model, with weights of training rows where `has_covers` asks for them.
///
/// # Errors
/// The first problem, with the path of its key.
pub(super) fn read(
    format: TreeFormat,
    document: &Document,
    iterations: Iterations,
    has_covers: bool,
) -> Result<(AboutTrees, Booster), Problem> {
    let model = ValueAt::root(document);
    if model.find("learner")?.is_none() && model.find("features_info")?.is_some() {
        let reason = "is CatBoost's JSON, which is not supported; hint: save it with \
                      `format=\"onnx\"`, or call it in a worker app (docs/WORKERS.md)";
        return Err(model.problem(reason));
    }
    let learner = model.get("learner")?;
    let shape = learner.get("learner_model_param")?;
    let features = shape.get("num_feature")?.count()?;
    if !(1..=FEATURES_MAX).contains(&features) {
        let reason = format!("has {features} features, must have 1 to {FEATURES_MAX}");
        return Err(shape.problem(reason));
    }
    let classes = shape.get("num_class")?.count()?;
    let targets = shape.find("num_target")?.map_or(Ok(1), |node| node.count())?;
    let outputs = classes.max(targets).max(1);
    if outputs > OUTPUTS_MAX {
        let reason = format!("has {outputs} outputs, at most {OUTPUTS_MAX}");
        return Err(shape.problem(reason));
    }
    let objective = learner.get("objective")?;
    let objective = objective.get("name")?;
    let rule = Rule::of(&objective, version(&model)?)?;
    let base = base(&shape.get("base_score")?, rule.intercept, outputs)?;
    let mut about = AboutTrees {
        format,
        objective: objective.text()?.to_owned(),
        features,
        feature_names: feature_names(&learner, features)?,
        margins: outputs,
        scores: rule.transform.scores(outputs),
        trees: 0,
        unused: 0,
    };
    let booster = learner.get("gradient_booster")?;
    if booster.get("name")?.text()? == "gblinear" {
        let linear = LinearBooster::read(&booster, features, base, rule.transform)?;
        return Ok((about, Booster::Linear(linear)));
    }
    let inner = gbtree(&booster)?;
    let model = inner.get("model")?;
    let (mut trees, sets) = trees((&booster, &model), (features, outputs), has_covers)?;
    let all = trees.len();
    if iterations == Iterations::Best
        && let Some(best) = best_iteration(&learner)?
    {
        trees.truncate(trees_up_to(&model, best, outputs)?);
    }
    (about.trees, about.unused) = (trees.len(), all - trees.len());
    let forest = Forest {
        features,
        base,
        trees,
        sets,
        transform: rule.transform,
        divisor: 1,
        merge: Merge::Sum,
        zero_max: 0.0,
    };
    Ok((about, Booster::Trees(forest)))
}

/// What an objective does to base scores and to margins.
struct Rule {
    intercept: Intercept,
    transform: OutputTransform,
}

/// What makes a margin of a base score (`ProbToMargin`).
#[derive(Clone, Copy)]
enum Intercept {
    Identity,
    Logit,
    Log,
}

impl Rule {
    fn of(objective: &ValueAt<'_>, version: (i64, i64)) -> Result<Self, Problem> {
        let (intercept, transform) = match objective.text()? {
            "reg:logistic" | "binary:logistic" => {
                (Intercept::Logit, OutputTransform::Logistic { steepness: 1.0 })
            }
            "count:poisson" | "reg:gamma" | "reg:tweedie" | "survival:cox" | "survival:aft" => {
                (Intercept::Log, OutputTransform::Exp)
            }
            "multi:softprob" => (Intercept::Identity, OutputTransform::Softmax),
            "multi:softmax" => (Intercept::Identity, OutputTransform::Largest),
            "binary:hinge" => (Intercept::Identity, OutputTransform::Positive),
            // Quantiles that cross are put in order since 3.4.
            "reg:quantileerror" if version >= (3, 4) => {
                (Intercept::Identity, OutputTransform::Sorted)
            }
            "reg:squarederror"
            | "reg:linear"
            | "reg:squaredlogerror"
            | "reg:pseudohubererror"
            | "reg:absoluteerror"
            | "reg:quantileerror"
            | "binary:logitraw"
            | "rank:pairwise"
            | "rank:ndcg"
            | "rank:map" => (Intercept::Identity, OutputTransform::Identity),
            other => return Err(objective.problem(format!("`{other}` is not known here"))),
        };
        Ok(Self { intercept, transform })
    }
}

impl Intercept {
    fn margin(self, score: f32) -> f32 {
        match self {
            Self::Identity => score,
            Self::Log => score.ln(),
            Self::Logit => {
                let score = score.clamp(PROBABILITY_MIN, 1.0 - PROBABILITY_MIN);
                -(1.0 / score - 1.0).ln()
            }
        }
    }
}

/// The version that wrote the file; 0 where it does not say.
fn version(model: &ValueAt<'_>) -> Result<(i64, i64), Problem> {
    let Some(node) = model.find("version")? else { return Ok((0, 0)) };
    let parts = node.integers()?;
    let part = |index| parts.get(index).copied().unwrap_or(0);
    Ok((part(0), part(1)))
}

fn feature_names(learner: &ValueAt<'_>, features: usize) -> Result<Vec<String>, Problem> {
    let Some(node) = learner.find("feature_names")? else { return Ok(Vec::new()) };
    let names: Vec<String> =
        node.list()?.map(|name| name.text().map(str::to_owned)).collect::<Result<_, _>>()?;
    match names.is_empty() || names.len() == features {
        true => Ok(names),
        false => Err(node.problem(format!("holds {} names for {features} features", names.len()))),
    }
}

/// One number for all outputs, or since 3.1 a list with one for each.
fn base(node: &ValueAt<'_>, intercept: Intercept, outputs: usize) -> Result<Vec<f32>, Problem> {
    let text = node.text()?.trim();
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let mut margins = Vec::new();
    for number in inner.split(',') {
        let score: Option<f32> = number.trim().parse().ok();
        let margin = score.map(|score| intercept.margin(score)).filter(|m| m.is_finite());
        let Some(margin) = margin else {
            return Err(node.problem(format!("`{number}` is no base score of this objective")));
        };
        margins.push(margin);
    }
    match margins.len() {
        1 => Ok(vec![margins[0]; outputs]),
        count if count == outputs => Ok(margins),
        count => Err(node.problem(format!("holds {count} numbers for {outputs} outputs"))),
    }
}

type TreesAndSets = (Vec<Tree<f32>>, Vec<Set>);

/// The iteration at which early stopping found the best score; training went on after it.
fn best_iteration(learner: &ValueAt<'_>) -> Result<Option<usize>, Problem> {
    let Some(attributes) = learner.find("attributes")? else { return Ok(None) };
    attributes.find("best_iteration")?.map(|node| node.count()).transpose()
}

/// Returns how many trees there are up to an iteration and with it.
fn trees_up_to(model: &ValueAt<'_>, last: usize, outputs: usize) -> Result<usize, Problem> {
    // Since 2.0; before, each iteration has the same number of trees for each output.
    if let Some(starts) = model.find("iteration_indptr")? {
        let ends = starts.integers()?;
        let end = last.checked_add(1).and_then(|at| ends.get(at)).copied();
        return match end.map(usize::try_from) {
            None => Ok(usize::MAX),
            Some(end) => end.map_err(|_| starts.problem("holds a negative number")),
        };
    }
    let param = model.get("gbtree_model_param")?;
    let parallel = param.find("num_parallel_tree")?;
    let parallel = parallel.map_or(Ok(1), |node| node.count())?.max(1);
    Ok(last.saturating_add(1).saturating_mul(parallel).saturating_mul(outputs))
}

/// The part of a booster that has the trees.
fn gbtree<'a>(booster: &'a ValueAt<'a>) -> Result<ValueAt<'a>, Problem> {
    let name = booster.get("name")?;
    match name.text()? {
        "gbtree" => Ok(*booster),
        "dart" => booster.get("gbtree"),
        other => Err(name.problem(format!("`{other}` is no booster of trees"))),
    }
}

fn trees(
    (booster, model): (&ValueAt<'_>, &ValueAt<'_>),
    (features, outputs): (usize, usize),
    has_covers: bool,
) -> Result<TreesAndSets, Problem> {
    // Beside the trees up to 3.3, among them since.
    let weights = match booster.find("weight_drop")? {
        Some(node) => node.floats()?,
        None => model.find("weight_drop")?.map_or(Ok(Vec::new()), |node| node.floats())?,
    };
    let groups = model.get("tree_info")?;
    let groups_of_trees = groups.integers()?;
    let list = model.get("trees")?;
    let (mut trees, mut sets) = (Vec::new(), Vec::new());
    for (number, node) in list.list()?.enumerate() {
        let group = groups_of_trees.get(number).copied().unwrap_or(-1);
        let Some(output) = u32::try_from(group).ok().filter(|g| (*g as usize) < outputs) else {
            return Err(groups.problem(format!("tree {number} is of no output")));
        };
        let weight = weights.get(number).copied().unwrap_or(1.0);
        let arrays = Arrays::of(&node, &mut sets, has_covers)?;
        if arrays.outputs > 1 && (output, arrays.outputs) != (0, outputs as u32) {
            return Err(node.problem("has leaves of another number of values than of outputs"));
        }
        trees.push(arrays.tree(&node, output, weight, features)?);
    }
    let param = model.get("gbtree_model_param")?;
    let wanted = param.get("num_trees")?.count()?;
    match wanted == trees.len() && weights.len() <= trees.len() {
        true => Ok((trees, sets)),
        false => Err(list.problem(format!("holds {} trees, must hold {wanted}", trees.len()))),
    }
}

/// The arrays of a tree, one element per node; a node without a left child is a leaf.
struct Arrays {
    left: Vec<i64>,
    right: Vec<i64>,
    features: Vec<i64>,
    /// Limits of splits, values of leaves.
    numbers: Vec<f32>,
    /// Values of a leaf.
    outputs: u32,
    /// Those of all leaves, where there are several for each.
    vectors: Vec<f32>,
    default_left: Vec<i64>,
    /// The set of each categorical split.
    sets: Vec<Option<u32>>,
    /// What the rows of the training weigh at each node; none where nobody asked.
    hessians: Vec<f32>,
}

impl Arrays {
    fn of(tree: &ValueAt<'_>, sets: &mut Vec<Set>, has_covers: bool) -> Result<Self, Problem> {
        let param = tree.get("tree_param")?;
        let size = param.find("size_leaf_vector")?.map_or(Ok(1), |node| node.count())?.max(1);
        let outputs = u32::try_from(size).unwrap_or(u32::MAX);
        let vectors = match (outputs, tree.find("leaf_weights")?) {
            (1, _) => Vec::new(),
            (_, Some(node)) => node.floats()?,
            (_, None) => {
                let hint = "hint: load and save the model with XGBoost 3.2 or newer";
                return Err(tree.problem(format!("has leaves of several values; {hint}")));
            }
        };
        let left = tree.get("left_children")?.integers()?;
        let nodes = left.len();
        let leaves = left.iter().filter(|left| **left < 0).count();
        // So a small file does not become large in memory.
        if outputs > 1 && vectors.len() != leaves.saturating_mul(size) {
            let reason = format!("holds {} values for {leaves} leaves of {size}", vectors.len());
            return Err(tree.problem(reason));
        }
        let check = |key, length| match length == nodes && nodes > 0 {
            true => Ok(()),
            false => Err(tree.problem(format!("`{key}` holds {length} numbers for {nodes} nodes"))),
        };
        let integers = |key| {
            let values = tree.get(key)?.integers()?;
            check(key, values.len()).map(|()| values)
        };
        let numbers = tree.get("split_conditions")?.floats()?;
        check("split_conditions", numbers.len())?;
        check("num_nodes", param.get("num_nodes")?.count()?)?;
        let hessians = match tree.find("sum_hessian")?.filter(|_| has_covers) {
            Some(node) => node.floats()?,
            None => Vec::new(),
        };
        if !hessians.is_empty() {
            check("sum_hessian", hessians.len())?;
        }
        Ok(Self {
            right: integers("right_children")?,
            features: integers("split_indices")?,
            default_left: integers("default_left")?,
            sets: Self::sets(tree, nodes, sets)?,
            hessians,
            numbers,
            left,
            outputs,
            vectors,
        })
    }

    /// Reads the sets of categorical splits (`LoadCategoricalSplit`).
    fn sets(
        tree: &ValueAt<'_>,
        nodes: usize,
        sets: &mut Vec<Set>,
    ) -> Result<Vec<Option<u32>>, Problem> {
        let mut of_nodes = vec![None; nodes];
        let Some(kinds) = tree.find("split_type")? else { return Ok(of_nodes) };
        let kinds = kinds.integers()?;
        let integers = |key| tree.get(key)?.integers();
        let starts = integers("categories_segments")?;
        let sizes = integers("categories_sizes")?;
        let list = integers("categories")?;
        let mut rest = list.as_slice();
        for (index, node) in integers("categories_nodes")?.iter().enumerate() {
            let problem = || tree.problem(format!("the categories of node {node} do not exist"));
            let part = |from: &[i64]| usize::try_from(*from.get(index)?).ok();
            // One after another, so that no category is kept twice.
            let follows = part(&starts) == Some(list.len() - rest.len());
            let size = part(&sizes).filter(|_| follows);
            let members;
            (members, rest) =
                size.and_then(|size| rest.split_at_checked(size)).ok_or_else(problem)?;
            let members = members.iter().map(|member| u32::try_from(*member).ok());
            let members: Vec<u32> = members.collect::<Option<_>>().ok_or_else(problem)?;
            let slot = usize::try_from(*node).ok().and_then(|node| of_nodes.get_mut(node));
            *slot.ok_or_else(problem)? = Some(sets.len() as u32);
            sets.push(Set::of_list(members));
        }
        let matches = kinds.len() == nodes
            && kinds.iter().zip(&of_nodes).all(|(kind, set)| (*kind == 1) == set.is_some());
        match matches {
            true => Ok(of_nodes),
            false => Err(tree.problem("`split_type` and `categories_nodes` disagree")),
        }
    }

    fn tree(
        &self,
        node: &ValueAt<'_>,
        output: u32,
        weight: f32,
        features: usize,
    ) -> Result<Tree<f32>, Problem> {
        let mut places = Vec::with_capacity(self.left.len());
        let (mut inner, mut count, mut leaves) = (0, 0, Vec::new());
        for (index, (left, number)) in self.left.iter().zip(&self.numbers).enumerate() {
            if *left < 0 {
                places.push(Child::Leaf(count));
                count += 1;
                match self.outputs {
                    1 => leaves.push(number * weight),
                    _ => {
                        let vector = self.vector(index);
                        let vector = vector.ok_or_else(|| {
                            node.problem(format!("node {index}: its leaf does not exist"))
                        })?;
                        leaves.extend(vector.iter().map(|value| value * weight));
                    }
                }
            } else {
                places.push(Child::Split(inner));
                inner += 1;
            }
        }
        if leaves.iter().any(|leaf| !leaf.is_finite()) {
            return Err(node.problem("holds a leaf that is not finite"));
        }
        let splits = (0..self.left.len()).filter(|index| self.left[*index] >= 0);
        let splits = splits.map(|index| {
            let split = self.split(index, &places, features);
            split.map_err(|reason| node.problem(format!("node {index}: {reason}")))
        });
        let splits = splits.collect::<Result<_, _>>()?;
        let (outputs, functions, covers) = (self.outputs, Vec::new(), self.covers());
        Ok(Tree { output, outputs, root: places[0], splits, leaves, functions, covers })
    }

    /// How many rows of the training came to each node, weighed; none where nobody asked.
    fn covers(&self) -> Covers {
        let of = |is_leaf: bool| {
            let nodes = self.left.iter().zip(&self.hessians);
            let wanted = nodes.filter(|(left, _)| (**left < 0) == is_leaf);
            wanted.map(|(_, hessian)| f64::from(*hessian)).collect()
        };
        Covers { splits: of(false), leaves: of(true) }
    }

    /// The values of a leaf, whose number stands in place of its right child.
    fn vector(&self, node: usize) -> Option<&[f32]> {
        let (leaf, size) = (usize::try_from(self.right[node]).ok()?, self.outputs as usize);
        let start = leaf.checked_mul(size)?;
        self.vectors.get(start..start.checked_add(size)?)
    }

    fn split(&self, index: usize, places: &[Child], features: usize) -> Result<Split, String> {
        let child = |child: i64| {
            let place = usize::try_from(child).ok().and_then(|child| places.get(child));
            place.copied().ok_or_else(|| format!("child {child} does not exist"))
        };
        let feature = self.features[index];
        let known = usize::try_from(feature).is_ok_and(|feature| feature < features);
        if !known {
            return Err(format!("feature {feature} is none of {features}"));
        }
        let missing = if self.default_left[index] != 0 { Branch::Left } else { Branch::Right };
        let test = match self.sets[index] {
            Some(set) => Test::In { set, inside: Branch::Right, missing },
            None => {
                let limit = self.numbers[index];
                if limit.is_nan() || limit == f32::NEG_INFINITY {
                    return Err(format!("`{limit}` is no limit"));
                }
                let limit = f64::from(limit.next_down());
                Test::UpTo { limit, missing: Missing::Nan(missing) }
            }
        };
        let (left, right) = (child(self.left[index])?, child(self.right[index])?);
        Ok(Split { feature: feature as u32, test, left, right })
    }
}

#[cfg(test)]
mod tests;
