//! Predicts from rows with one generation of a model: trees, a linear model, or a graph in ONNX.
//!
//! It tells the kind of model by the file's bytes, and runs the model. It knows inputs, outputs,
//! version (a digest where neither plan nor file has one), and cost. The cost is an estimate. Above
//! 200 µs the gateway's `fetch/origin.rs` has the request answered on the pool; a row of any ONNX
//! graph counts 20 µs.
//!
//! Invariant: inputs and outputs have names and data types, and a row is as wide as all inputs
//! together. Callers check the width of rows. Scratch memory is kept for each thread.
//! Clients see platform, names and data types; `tidegate model inspect` prints `Display`. The names
//! `input` and `predict` stand in golden files of users, which refuse a model without them.
//! `LINEAR` repeats the format's name in `models` and `python/tidegate/linear.py`. A new kind of
//! file has arms in `read`, `predict` and `cost_ns`, and a row in docs/MODELS.md.
//! Refuses: to know of files (`predicting.rs`) and protocols (`oip.rs`). Evaluation is in the crate
//! `models`.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use models::{
    Error, Iterations, Linear, LinearRows, OnnxInput, OnnxKind, OnnxModel, OnnxOutput, OnnxScratch,
    OnnxValues, RankModel, RowModel, TreeFormat, TreeScratch, Trees,
};

use crate::digest::digest;
use crate::tensor::{Data, Datatype, Tensor, TensorAbout};

/// As a file in our own format says what it is.
const LINEAR: &str = "tidegate-linear-1";

/// How files in our own formats tell themselves from others, of whatever version.
const FORMATS: &str = "tidegate-linear-";

/// What a tree of a row costs, in picoseconds, rounded up as in `ranking.rs`.
const TREE_PS: u64 = 2_500;

/// Rows that a model predicts before it serves.
const WARM_UP_ROWS: usize = 16;
/// What a row of a graph is thought to cost before it was tried.
const GRAPH_ROW_PS: u64 = 20_000_000;

/// A model that predicts, ready to answer. Immutable.
#[derive(Debug)]
pub struct Predictor {
    evaluator: Evaluator,
    /// What a row of a graph costs in picoseconds, once it has been tried.
    graph_row_ps: u64,
    pub(crate) version: String,
    /// As the platform is called in metadata: `lightgbm`.
    pub(crate) platform: &'static str,
    /// Names of the columns; none where the file has none.
    pub(crate) columns: Vec<String>,
    pub(crate) inputs: Vec<TensorAbout>,
    pub(crate) outputs: Vec<TensorAbout>,
}

#[derive(Debug)]
enum Evaluator {
    Trees(Arc<Trees>),
    Linear(LinearRows),
    Onnx(Arc<OnnxModel>),
}

/// What a thread that predicts writes to.
#[derive(Default)]
struct Scratch {
    trees: TreeScratch,
    onnx: OnnxScratch,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Scratch>>> = const { Cell::new(None) };
}

impl Predictor {
    /// Makes a model of a file's bytes, and finds out what it is.
    ///
    /// # Errors
    /// What is wrong with the file, and where.
    pub fn read(
        bytes: &[u8],
        version: Option<String>,
        iterations: Iterations,
    ) -> Result<Self, Error> {
        if is_linear(bytes) {
            return Linear::parse(bytes).map(|linear| Self::of_linear(&linear, version));
        }
        let version = version.unwrap_or_else(|| version_of(bytes));
        match is_onnx(bytes) {
            true => Ok(Self::of_onnx(Arc::new(OnnxModel::read(bytes)?), version)),
            false => {
                let trees = Trees::read_iterations(bytes, iterations)?;
                Ok(Self::of_trees(Arc::new(trees), version))
            }
        }
    }

    /// Makes a model of a file's bytes that ranks items, and the same over rows that a client
    /// brings.
    ///
    /// # Errors
    /// What is wrong with the file, and where, or why it does not rank.
    pub(crate) fn read_ranker(
        bytes: &[u8],
        version: Option<String>,
        iterations: Iterations,
    ) -> Result<(RankModel, Self), Error> {
        if is_linear(bytes) {
            let linear = Linear::parse(bytes)?;
            let rows = Self::of_linear(&linear, version);
            return Ok((linear.into(), rows));
        }
        let version = version.unwrap_or_else(|| version_of(bytes));
        if is_onnx(bytes) {
            let graph = Arc::new(OnnxModel::read(bytes)?);
            let model = RowModel::of_onnx(Arc::clone(&graph))?;
            return Ok((RankModel::Rows(model), Self::of_onnx(graph, version)));
        }
        let trees = Arc::new(Trees::read_explained(bytes, iterations)?);
        let model = RowModel::of_trees(Arc::clone(&trees))?;
        Ok((RankModel::Rows(model), Self::of_trees(trees, version)))
    }

    fn of_trees(trees: Arc<Trees>, version: String) -> Self {
        let about = trees.about();
        let (platform, datatype) = match about.format {
            TreeFormat::LightGbm => ("lightgbm", Datatype::Fp64),
            TreeFormat::XgBoostJson | TreeFormat::XgBoostUbjson => ("xgboost", Datatype::Fp32),
        };
        Self {
            platform,
            version,
            columns: about.feature_names.clone(),
            inputs: vec![TensorAbout::rows("input", datatype, about.features)],
            outputs: vec![TensorAbout::rows("predict", datatype, about.scores)],
            evaluator: Evaluator::Trees(trees),
            graph_row_ps: GRAPH_ROW_PS,
        }
    }

    /// A linear model over rows of all it reads.
    pub(crate) fn of_linear(linear: &Linear, version: Option<String>) -> Self {
        let rows = LinearRows::new(linear);
        Self {
            platform: LINEAR,
            version: version.unwrap_or_else(|| linear.version.clone()),
            columns: rows.names().to_vec(),
            inputs: vec![TensorAbout::rows("input", Datatype::Fp64, rows.names().len())],
            outputs: vec![TensorAbout::rows("predict", Datatype::Fp64, 1)],
            evaluator: Evaluator::Linear(rows),
            graph_row_ps: GRAPH_ROW_PS,
        }
    }

    fn of_onnx(model: Arc<OnnxModel>, version: String) -> Self {
        let about = model.about();
        let input =
            |input: &OnnxInput| TensorAbout::rows(&input.name, datatype(input.kind), input.width);
        let output = |output: &OnnxOutput| TensorAbout {
            labels: output.columns.clone(),
            ..TensorAbout::rows(
                &output.name,
                datatype(output.kind),
                if output.is_list { 0 } else { output.width },
            )
        };
        // Several inputs of one value each are columns, which tables name.
        let is_by_column = about.inputs.len() > 1 && about.inputs.iter().all(|one| one.width == 1);
        let columns = match is_by_column {
            true => about.inputs.iter().map(|input| input.name.clone()).collect(),
            false => about.feature_names.clone(),
        };
        Self {
            platform: "onnx",
            version,
            columns,
            inputs: about.inputs.iter().map(input).collect(),
            outputs: about.outputs.iter().map(output).collect(),
            evaluator: Evaluator::Onnx(Arc::clone(&model)),
            graph_row_ps: GRAPH_ROW_PS,
        }
    }

    /// Returns the number that stands for a text in a row; NaN where no row has texts.
    pub(crate) fn text_number(&self, text: &str) -> f64 {
        match &self.evaluator {
            Evaluator::Onnx(model) => model.text_number(text),
            _ => f64::NAN,
        }
    }

    /// Whether each number of a row stands for a text, in order.
    pub(crate) fn are_texts(&self) -> impl Iterator<Item = bool> {
        let is_text = |input: &TensorAbout| {
            std::iter::repeat_n(input.datatype == Datatype::Bytes, input.width)
        };
        self.inputs.iter().flat_map(is_text)
    }

    /// Whether there are sums before the predictions.
    pub(crate) fn has_raw(&self) -> bool {
        matches!(self.evaluator, Evaluator::Trees(_))
    }

    /// Whether its file may tell at which iteration training found the best score.
    pub(crate) fn can_stop_early(&self) -> bool {
        let Evaluator::Trees(trees) = &self.evaluator else { return false };
        trees.about().format != TreeFormat::LightGbm
    }

    /// Numbers per row: those of all inputs, side by side.
    pub fn width(&self) -> usize {
        self.inputs.iter().map(|input| input.width).sum()
    }

    /// Returns what the model gives for rows, one output after the other. `raw` gives the sums of
    /// trees before the objective's transform, which may change their number.
    ///
    /// # Errors
    /// Where the model fails.
    pub(crate) fn predict(&self, rows: &mut [f64], raw: bool) -> Result<Vec<Tensor>, Error> {
        let count = rows.len() / self.width().max(1);
        let mut scratch = SCRATCH.take().unwrap_or_default();
        let done = match &self.evaluator {
            Evaluator::Linear(linear) => {
                let mut out = vec![0.0; count];
                linear.score(rows, &mut out).map(|()| vec![self.output(0, count, out)])
            }
            Evaluator::Trees(trees) => {
                let about = trees.about();
                let width = if raw { about.margins } else { about.scores };
                let mut out = vec![0.0; count * width];
                let done = match raw {
                    true => trees.margins(rows, &mut scratch.trees, &mut out),
                    false => trees.score(rows, &mut scratch.trees, &mut out),
                };
                done.map(|()| vec![self.output(0, count, out)])
            }
            Evaluator::Onnx(model) => model.run(rows, &mut scratch.onnx).and_then(|answer| {
                answer.expect_doubles()?;
                let outputs = 0..self.outputs.len();
                Ok(outputs.map(|index| self.output(index, count, answer.output(index))).collect())
            }),
        };
        SCRATCH.set(Some(scratch));
        done
    }

    fn output(&self, index: usize, rows: usize, data: impl Into<Data>) -> Tensor {
        let TensorAbout { name, datatype, width, .. } = &self.outputs[index];
        let data = data.into();
        let shape = match width {
            0 => vec![rows],
            // Raw scores may be of another width.
            width => vec![rows, data.len().checked_div(rows).unwrap_or(*width)],
        };
        Tensor { name: name.clone(), datatype: *datatype, shape, data }
    }

    /// Estimates what `rows` rows cost, in nanoseconds.
    pub(crate) fn cost_ns(&self, rows: usize) -> u64 {
        let per_row_ps = match &self.evaluator {
            Evaluator::Trees(trees) if trees.is_linear() => {
                (trees.about().features * trees.about().margins) as u64 * 1_000
            }
            Evaluator::Trees(trees) => trees.about().trees as u64 * TREE_PS,
            Evaluator::Linear(linear) => linear.names().len() as u64 * 1_000,
            Evaluator::Onnx(_) => self.graph_row_ps,
        };
        rows as u64 * per_row_ps / 1000
    }

    /// Predicts for nobody: the first answers of a generation are not a client's. What a row of a
    /// graph costs is seen by that; nothing else tells.
    pub(crate) fn warm_up(&mut self) -> Result<(), String> {
        if let Evaluator::Onnx(model) = &self.evaluator {
            let mut scratch = SCRATCH.take().unwrap_or_default();
            let mut run = || model.warm_up(WARM_UP_ROWS, &mut scratch.onnx);
            let timed = run().and_then(|()| {
                let begun = Instant::now();
                run().map(|()| begun.elapsed())
            });
            SCRATCH.set(Some(scratch));
            self.graph_row_ps = row_ps(timed.map_err(|error| error.to_string())?, WARM_UP_ROWS);
            return Ok(());
        }
        let mut rows = vec![0.0; self.width() * WARM_UP_ROWS];
        self.predict(&mut rows, false).map(drop).map_err(|error| error.to_string())
    }
}

/// What a row costs where so many took so long together.
fn row_ps(took: Duration, rows: usize) -> u64 {
    let whole = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000);
    whole / rows as u64
}

impl fmt::Display for Predictor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} version {}", self.platform, self.version)?;
        if let Evaluator::Trees(trees) = &self.evaluator {
            let about = trees.about();
            match trees.is_linear() {
                true => writeln!(f, "{:>12}  linear booster, objective {}", "", about.objective)?,
                false => writeln!(f, "{:>12}  trees, objective {}", about.trees, about.objective)?,
            }
            if about.unused > 0 {
                let unused = "trees after `best_iteration`, which do not count";
                let key = "`iterations = \"all\"` counts them";
                writeln!(f, "{:>12}  {unused}; {key}", about.unused)?;
            }
        }
        for (what, tensors) in [("input", &self.inputs), ("output", &self.outputs)] {
            for TensorAbout { name, datatype, width, .. } in tensors {
                let (datatype, width) = (datatype.name(), width.max(&1));
                writeln!(f, "{width:>12}  {datatype} per row of {what} `{name}`")?;
            }
        }
        for (index, column) in self.columns.iter().enumerate() {
            writeln!(f, "{index:>12}  column {column}")?;
        }
        Ok(())
    }
}

/// Whether a file is in a format of our own.
pub(crate) fn is_linear(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(4096)];
    head.windows(FORMATS.len()).any(|window| window == FORMATS.as_bytes())
}

fn version_of(bytes: &[u8]) -> String {
    digest(bytes).expect("reading from memory does not fail")
}

/// A protobuf of ONNX begins with the number of its format, as field 1; no text begins so.
fn is_onnx(bytes: &[u8]) -> bool {
    bytes.first() == Some(&8)
}

fn datatype(kind: OnnxKind) -> Datatype {
    match kind {
        OnnxKind::Float => Datatype::Fp32,
        OnnxKind::Double => Datatype::Fp64,
        OnnxKind::Integer => Datatype::Int64,
        OnnxKind::Integer32 => Datatype::Int32,
        OnnxKind::Bool => Datatype::Bool,
        OnnxKind::Text => Datatype::Bytes,
    }
}

impl From<OnnxValues<'_>> for Data {
    fn from(values: OnnxValues<'_>) -> Self {
        match values {
            OnnxValues::Floats(floats) => {
                Self::Numbers(floats.iter().map(|float| f64::from(*float)).collect())
            }
            OnnxValues::Doubles(doubles) => Self::Numbers(doubles.to_vec()),
            OnnxValues::Integers(integers) => {
                Self::Numbers(integers.iter().map(|integer| *integer as f64).collect())
            }
            OnnxValues::Flags(flags) => {
                Self::Numbers(flags.iter().map(|flag| f64::from(u8::from(*flag))).collect())
            }
            OnnxValues::Texts(texts) => Self::Texts(texts.iter().map(str::to_owned).collect()),
        }
    }
}

#[cfg(test)]
mod tests;
