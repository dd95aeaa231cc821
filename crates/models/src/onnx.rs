//! Runs models in ONNX files (onnx.ai, ONNX and ONNX-ML operators), as skl2onnx and onnxmltools
//! export them.
//!
//! These are trees, linear models, small networks, and what prepares their rows. A graph is run for
//! many rows at once, one operator after another (`graph.rs`). An operator, or a family of them,
//! has a file in `operators/`; `operators.rs` lists all but `Constant`. Trees are those of
//! [`crate::Trees`].
//! Layers of networks are summed in floats, other products in double precision. For the models of
//! `golden/onnx`, labels are ONNX Runtime's, and scores within 1e-6 of its own. `PROBIT` and
//! support vectors have 3e-5, because it loses digits there.
//!
//! Invariant: a graph that is read has been tried with three rows of zeros, then two. Its operators
//! fit each other, and each output has one row for each row given. An answer whose outputs do not
//! is an error. Once a scratch has run this model, and no other since, few operators allocate.
//! These are `Sum`, `Min`, `Max`, `TopK`, those of support vectors, and outputs that nobody reads.
//! A text of a row is the number of that text in the model. All texts that the model does not name
//! have one number, so an output never holds a text of an input.
//! A row's numbers are doubles, so integers stay below 2^53 there: `fill_inputs` refuses others.
//! Operators see to the lists of a file (`exact_integers`). Outputs are exact.
//! Refuses: operators that are not known, by name, and inputs without a stated width. Also files
//! that ask for more memory or work for a row than `call.rs` allows, and outputs that hold texts of
//! an input.
//! [`OnnxKind`] and [`OnnxValues`] are matched by `predictor.rs` of crates/serving, which names
//! data types by them. What else a new kind of element needs is in `tensor.rs`.

mod about;
mod apart;
mod attributes;
mod call;
mod elementwise;
mod file;
mod graph;
mod labels;
mod numeric;
mod operators;
mod post_transform;
mod product;
mod tensor;
mod wire;

pub use about::{AboutOnnx, OnnxInput, OnnxKind, OnnxOutput};
pub use graph::OnnxScratch;

use std::cell::RefCell;
use std::collections::HashSet;

use call::{Budget, Operand};
use file::{GraphNode, ModelFile, Port, kind};
use graph::{Graph, Trial};
use tensor::{Data, EXACT_END, Element, Shape, Tensor, TextCode, TextInterner};

use crate::error::{Error, IN_A_WORKER, Problem};
use crate::trees::Number;

/// Bytes of a model file.
const BYTES_MAX: usize = u32::MAX as usize;

/// Numbers of a row.
const FEATURES_MAX: usize = 1 << 16;

/// The least integer of 32 bits, and the first beyond the largest.
const INTEGERS_32: (f64, f64) = (-2_147_483_648.0, 2_147_483_648.0);

/// As `INTEGERS_32`, of 64 bits.
const INTEGERS_64: (f64, f64) = (-9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0);

/// Nodes between a classifier and an output that has its scores.
const STEPS_MAX: usize = 8;

/// Rows that a graph is tried with; the second number shows what does not grow with them.
const TRIED: [usize; 2] = [3, 2];

/// A model in ONNX, ready to run.
#[derive(Debug)]
pub struct OnnxModel {
    about: AboutOnnx,
    graph: Graph,
    /// Where each output stands.
    outputs: Vec<usize>,
    texts: TextInterner,
}

/// What a model gives for rows, until its scratch is used again.
#[derive(Debug, Clone, Copy)]
pub struct OnnxAnswer<'a> {
    model: &'a OnnxModel,
    slots: &'a [Tensor],
}

/// The elements of an output, row by row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OnnxValues<'a> {
    Floats(&'a [f32]),
    Doubles(&'a [f64]),
    Integers(&'a [i64]),
    Flags(&'a [bool]),
    Texts(OnnxTexts<'a>),
}

/// Texts, each one of the model's own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OnnxTexts<'a> {
    codes: &'a [TextCode],
    texts: &'a [String],
}

impl OnnxModel {
    /// Reads a model file (`ModelProto`), and tries it.
    ///
    /// # Errors
    /// [`Error::Model`] with the first problem and its place: a byte, an input or output, or a node
    /// with its operator. A model with an operator that is not known can be run with ONNX Runtime
    /// in a Python worker.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read(bytes).map_err(|problem| Error::Model(vec![problem]))
    }

    /// Returns what the model says of itself.
    pub fn about(&self) -> &AboutOnnx {
        &self.about
    }

    /// Returns the texts that the model names, each with the number that stands for it in a row.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, f64)> {
        self.texts.list().iter().map(|text| (text.as_str(), self.text_number(text)))
    }

    /// Returns the number that stands for a text in a row.
    pub fn text_number(&self, text: &str) -> f64 {
        self.texts.find(text).unwrap_or(TextCode::UNKNOWN).number()
    }

    /// Runs the model for so many rows that nobody asked for.
    ///
    /// # Errors
    /// As in [`Self::run`], but no category is an error.
    pub fn warm_up(&self, count: usize, scratch: &mut OnnxScratch) -> Result<(), Error> {
        let rows = made_up(&self.about.inputs, count);
        self.run_within(&rows, Budget::of_trial(count), scratch).map(drop)
    }

    /// Runs the model for rows of `features` numbers each, the inputs' side by side.
    ///
    /// Numbers are converted to what each input wants; floats are rounded. In place of a text
    /// stands its [`Self::text_number`].
    ///
    /// # Errors
    /// [`Error::Rows`] where the length does not fit, or an integer or a flag is none; the error
    /// names the input and the row. Also for integers from 2^53 on. Also where a node cannot go on
    /// with what the graph computed, such as a category that it does not know.
    pub fn run<'a, N: Number>(
        &'a self,
        rows: &[N],
        scratch: &'a mut OnnxScratch,
    ) -> Result<OnnxAnswer<'a>, Error> {
        let budget = Budget::of(rows.len() / self.about.features);
        self.run_within(rows, budget, scratch)
    }

    fn run_within<'a, N: Number>(
        &'a self,
        rows: &[N],
        budget: Budget,
        scratch: &'a mut OnnxScratch,
    ) -> Result<OnnxAnswer<'a>, Error> {
        let features = self.about.features;
        if !rows.len().is_multiple_of(features) {
            let count = rows.len();
            return Err(Error::Rows(format!("{count} numbers are no rows of {features}")));
        }
        let count = rows.len() / features;
        scratch.slots.resize_with(self.graph.slots, Tensor::default);
        fill_inputs(&self.about.inputs, rows, &mut scratch.slots).map_err(Error::Rows)?;
        let done = self.graph.run(budget, scratch);
        let slots = &scratch.slots;
        done.map_err(|problem| Error::Rows(problem.to_string()))?;
        let answer = OnnxAnswer { model: self, slots };
        for (output, slot) in self.about.outputs.iter().zip(&self.outputs) {
            if slots[*slot].data.len() != count * output.width {
                let reason = format!("output `{}` is not one row for each", output.name);
                return Err(Error::Rows(reason));
            }
            if holds_unknown(&slots[*slot]) {
                let reason = format!("output `{}` is a text of an input", output.name);
                return Err(Error::Rows(reason));
            }
        }
        Ok(answer)
    }
}

impl<'a> OnnxAnswer<'a> {
    /// Returns an output by its number in [`AboutOnnx::outputs`].
    ///
    /// # Panics
    /// There is no such output.
    pub fn output(&self, index: usize) -> OnnxValues<'a> {
        match &self.slots[self.model.outputs[index]].data {
            Data::Floats(elements) => OnnxValues::Floats(elements),
            Data::Doubles(elements) => OnnxValues::Doubles(elements),
            Data::Integers(elements) => OnnxValues::Integers(elements),
            Data::Flags(elements) => OnnxValues::Flags(elements),
            Data::Texts(codes) => {
                OnnxValues::Texts(OnnxTexts { codes, texts: self.model.texts.list() })
            }
        }
    }

    /// Checks that doubles hold all integers, for a caller that makes doubles of them.
    ///
    /// # Errors
    /// [`Error::Rows`] with the first output that holds another.
    pub fn expect_doubles(&self) -> Result<(), Error> {
        for (output, slot) in self.model.about.outputs.iter().zip(&self.model.outputs) {
            if holds_rounded(&self.slots[*slot]) {
                let reason = "holds a whole number beyond 2^53, which would be rounded";
                let name = &output.name;
                return Err(Error::Rows(format!("output `{name}` {reason}; {IN_A_WORKER}")));
            }
        }
        Ok(())
    }

    /// Returns an output by its name.
    pub fn named(&self, name: &str) -> Option<OnnxValues<'a>> {
        let index = self.model.about.outputs.iter().position(|output| output.name == name)?;
        Some(self.output(index))
    }
}

impl<'a> OnnxTexts<'a> {
    /// Returns the texts in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let Self { codes, texts } = *self;
        codes.iter().map(|code| code.of(texts))
    }
}

fn read(bytes: &[u8]) -> Result<OnnxModel, Problem> {
    if bytes.len() > BYTES_MAX {
        return Err(Problem::new("model", format!("is larger than {BYTES_MAX} bytes")));
    }
    let file = ModelFile::read(bytes)?;
    let (inputs, names) = inputs_of(&file)?;
    let features = inputs.iter().map(|input| input.width).sum();
    if !(1..=FEATURES_MAX).contains(&features) {
        let reason = format!("take {features} numbers a row, must take 1 to {FEATURES_MAX}");
        return Err(Problem::new("inputs", reason));
    }
    let mut texts = TextInterner::default();
    let mut scratch = OnnxScratch::default();
    let rows = made_up(&inputs, TRIED[0]);
    scratch.slots.resize_with(inputs.len(), Tensor::default);
    fill_inputs(&inputs, &rows, &mut scratch.slots)
        .map_err(|reason| Problem::new("inputs", reason))?;
    let reads = file.reads();
    let mut trial = Trial::new(TRIED[0], &mut scratch, &mut texts, &reads);
    let (graph, values) = Graph::read(&file, &names, &mut trial)?;
    let (mut about, mut slots) = (Vec::new(), Vec::new());
    for port in &file.outputs {
        let problem = |reason: String| Problem::new(format!("output `{}`", port.name), reason);
        let slot = match values.get(port.name) {
            Some(Operand::Slot(slot)) => *slot,
            Some(Operand::Constant(_)) => return Err(problem("is a constant".to_owned())),
            None => return Err(problem("is written by nothing".to_owned())),
        };
        let columns = columns_of(&file, port.name)?;
        about.push(output_of(port, &scratch.slots[slot], columns).map_err(problem)?);
        slots.push(slot);
    }
    if about.is_empty() {
        return Err(Problem::new("outputs", "are none"));
    }
    let producer = file.producer.to_owned();
    let feature_names = feature_names(&file, features)?;
    let about = AboutOnnx { producer, inputs, outputs: about, features, feature_names };
    let model = OnnxModel { about, graph, outputs: slots, texts };
    let again = model.warm_up(TRIED[1], &mut scratch);
    again.map_err(|error| {
        Problem::new("graph", format!("does not take any number of rows: {error}"))
    })?;
    Ok(model)
}

/// Returns what the file calls each number of a row; nothing where it does not say.
fn feature_names(file: &ModelFile<'_>, features: usize) -> Result<Vec<String>, Problem> {
    if file.features.is_empty() {
        return Ok(Vec::new());
    }
    let problem = |reason: String| Problem::new(format!("property `{}`", file::FEATURES), reason);
    let names: Vec<String> = serde_json::from_str(file.features)
        .map_err(|error| problem(format!("is no array of texts in JSON: {error}")))?;
    match names.len() == features {
        true => Ok(names),
        false => Err(problem(format!("names {} numbers of a row of {features}", names.len()))),
    }
}

/// Returns the inputs that are no constants, with their names in the file.
fn inputs_of<'a>(file: &ModelFile<'a>) -> Result<(Vec<OnnxInput>, Vec<&'a str>), Problem> {
    let mut ignored = TextInterner::default();
    let mut constants = HashSet::new();
    for constant in &file.constants {
        constants.insert(file::tensor(*constant, &mut ignored)?.0);
    }
    let (mut inputs, mut names) = (Vec::new(), Vec::new());
    for port in file.inputs.iter().filter(|port| !constants.contains(port.name)) {
        let input = input_of(port);
        inputs
            .push(input.map_err(|reason| Problem::new(format!("input `{}`", port.name), reason))?);
        names.push(port.name);
    }
    Ok((inputs, names))
}

fn input_of(port: &Port<'_>) -> Result<OnnxInput, String> {
    let kind = match port.kind {
        kind::FLOAT => OnnxKind::Float,
        kind::DOUBLE => OnnxKind::Double,
        kind::INT64 => OnnxKind::Integer,
        kind::INT32 => OnnxKind::Integer32,
        kind::BOOL => OnnxKind::Bool,
        kind::TEXT => OnnxKind::Text,
        other => {
            return Err(format!("is of data type {other}, which is not supported; {IN_A_WORKER}"));
        }
    };
    let width = match port.sizes.as_deref() {
        Some([_, Some(width)]) => usize::try_from(*width).ok(),
        _ => None,
    };
    match width.filter(|width| (1..=FEATURES_MAX).contains(width)) {
        Some(width) => Ok(OnnxInput { name: port.name.to_owned(), kind, width }),
        None => Err(format!(
            "must have two dimensions, rows and a width of 1 to {FEATURES_MAX} that the export \
             states; {IN_A_WORKER}"
        )),
    }
}

/// Returns the classes of an output's columns, as the classifier says whose scores they are.
fn columns_of(file: &ModelFile<'_>, name: &str) -> Result<Vec<String>, Problem> {
    let mut columns = Vec::new();
    let Some((node, integers)) = namer_of(file, name) else { return Ok(columns) };
    let from = attributes::Attributes {
        node,
        opset: 1,
        texts: &mut TextInterner::default(),
        inputs: Vec::new(),
        is_constant: Vec::new(),
        known: RefCell::default(),
    };
    for label in from.integers(integers)? {
        columns.push(label.to_string());
    }
    from.texts("classlabels_strings", |label| {
        columns.push(label.to_owned());
        Ok(())
    })?;
    Ok(columns)
}

/// Finds the node that has the classes of an output's columns, and its attribute for integers.
fn namer_of<'f, 'a>(
    file: &'f ModelFile<'a>,
    mut name: &'f str,
) -> Option<(&'f GraphNode<'a>, &'static str)> {
    for _ in 0..STEPS_MAX {
        let node = file.nodes.iter().find(|node| node.outputs.contains(&name))?;
        let is_first = node.outputs.first() == Some(&name);
        match node.operator {
            "ZipMap" if is_first => return Some((node, "classlabels_int64s")),
            "TreeEnsembleClassifier" if !is_first => return Some((node, "classlabels_int64s")),
            "LinearClassifier" if !is_first => return Some((node, "classlabels_ints")),
            // Each of these keeps the columns.
            "Cast" | "Identity" | "Normalizer" | "Softmax" => name = node.inputs.first()?,
            _ => return None,
        }
    }
    None
}

/// Describes an output by what a graph gave for the rows it was tried with.
fn output_of(
    port: &Port<'_>,
    value: &Tensor,
    mut columns: Vec<String>,
) -> Result<OnnxOutput, String> {
    let count = TRIED[0];
    let is_rows = value.shape.sizes().first() == Some(&count)
        // A list of one column may lie on its side.
        || (value.data.len() == count && value.shape.sizes().contains(&count));
    if !is_rows {
        return Err(format!("is not one row for each: {count} rows give {}", value.shape));
    }
    if holds_unknown(value) {
        return Err("is a text of an input, which is not supported".to_owned());
    }
    let width = value.data.len() / count;
    // A map names each of its columns; the scores of a classifier may be others.
    let is_map = port.kind == 0;
    match columns.len() {
        found if found == width || found == 0 => {}
        found if is_map => return Err(format!("has {width} columns, but {found} classes")),
        _ => columns.clear(),
    }
    // What a file declares counts, as for ONNX Runtime's clients; some declare nothing.
    let declared = port.sizes.as_ref().map(Vec::len).filter(|rank| *rank > 0);
    let is_list = width == 1 && declared.unwrap_or(value.shape.sizes().len()) == 1;
    let (name, kind) = (port.name.to_owned(), OnnxKind::of(&value.data));
    Ok(OnnxOutput { name, kind, width, is_list, columns })
}

fn holds_unknown(value: &Tensor) -> bool {
    matches!(&value.data, Data::Texts(codes) if codes.contains(&TextCode::UNKNOWN))
}

/// Whether an integer is none that a double holds.
fn holds_rounded(value: &Tensor) -> bool {
    let Data::Integers(numbers) = &value.data else { return false };
    numbers.iter().any(|number| *number as f64 as i64 != *number)
}

/// Returns rows of zeros, and of texts that no model names.
fn made_up(inputs: &[OnnxInput], count: usize) -> Vec<f64> {
    let number = |input: &OnnxInput| match input.kind {
        OnnxKind::Text => TextCode::UNKNOWN.number(),
        _ => 0.0,
    };
    let row: Vec<f64> = inputs.iter().flat_map(|input| vec![number(input); input.width]).collect();
    row.repeat(count)
}

/// Puts the numbers of rows where the graph finds them.
///
/// # Errors
/// The first input with a number that it does not take.
fn fill_inputs<N: Number>(
    inputs: &[OnnxInput],
    rows: &[N],
    slots: &mut [Tensor],
) -> Result<(), String> {
    let features: usize = inputs.iter().map(|input| input.width).sum();
    let count = rows.len() / features;
    let mut start = 0;
    for (input, slot) in inputs.iter().zip(slots) {
        let end = start + input.width;
        slot.shape = Shape::of(&[count, input.width]);
        let data = &mut slot.data;
        if input.width == features && input.kind == OnnxKind::Float {
            refill(f32::room(data), rows.iter().map(|number| number.narrow()));
            return Ok(());
        }
        let numbers = rows.chunks_exact(features).flat_map(|row| &row[start..end]).copied();
        match input.kind {
            OnnxKind::Float => refill(f32::room(data), numbers.map(N::narrow)),
            OnnxKind::Double => refill(f64::room(data), numbers.map(N::wide)),
            OnnxKind::Integer | OnnxKind::Integer32 => {
                fill_whole(input, numbers.map(N::wide), i64::room(data), |number| number)?;
            }
            OnnxKind::Bool => {
                fill_whole(input, numbers.map(N::wide), bool::room(data), |number| number != 0)?;
            }
            OnnxKind::Text => {
                refill(TextCode::room(data), numbers.map(|n| TextCode::of_number(n.wide())));
            }
        }
        start = end;
    }
    Ok(())
}

/// Takes numbers that must be whole.
fn fill_whole<T>(
    input: &OnnxInput,
    numbers: impl Iterator<Item = f64>,
    room: &mut Vec<T>,
    of: impl Fn(i64) -> T,
) -> Result<(), String> {
    room.clear();
    for (index, number) in numbers.enumerate() {
        let OnnxInput { name, kind, width } = input;
        let whole = whole(*kind, number);
        let at = |reason| format!("row {} of input `{name}` {reason}", index / width);
        room.push(of(whole.map_err(at)?));
    }
    Ok(())
}

fn whole(kind: OnnxKind, number: f64) -> Result<i64, String> {
    let fits = match kind {
        OnnxKind::Bool => number == 0.0 || number == 1.0,
        OnnxKind::Integer32 => (INTEGERS_32.0..INTEGERS_32.1).contains(&number),
        _ => (INTEGERS_64.0..INTEGERS_64.1).contains(&number),
    };
    if !fits || number.fract() != 0.0 {
        return Err(format!("is {number}, a value outside its type"));
    }
    match number.abs() < EXACT_END as f64 {
        true => Ok(number as i64),
        false => Err(format!("is 2^53 or more in size, and would be rounded; {IN_A_WORKER}")),
    }
}

fn refill<T>(room: &mut Vec<T>, numbers: impl Iterator<Item = T>) {
    room.clear();
    room.extend(numbers);
}

#[cfg(test)]
mod tests;
