//! Reads an ONNX file (onnx.proto): versions of operators, nodes, constants, inputs and outputs.
//! Everything else is skipped.
//!
//! Invariant: there is one graph, and counts of its parts are bounded. A constant has as many
//! elements as its shape says, and its data in the file pays for each. Messages of constants and
//! attributes are kept unread; `tensor` reads one, and `attributes.rs` the other.
//! Whether names of values fit together is seen in `graph.rs`. The domain `ai.onnx` becomes the
//! empty one, by which `operators.rs` and `graph.rs` ask.
//! Refuses: sparse constants, constants in other files, functions of the model's own. Also data
//! types other than float, double, int64, int32, bool and string.
//! A further data type also goes into `input_of` of `onnx.rs` and into `operators/cast.rs`. Where
//! it is held as elements of its own, `tensor.rs` says what changes.

use std::collections::HashMap;

use super::tensor::{Data, Shape, Tensor, TextCode, TextInterner};
use super::wire::{Message, Wire};
use crate::error::{IN_A_WORKER, Problem};

/// Nodes of a graph.
const NODES_MAX: usize = 1 << 16;

/// Inputs, outputs or attributes of a node.
const PARTS_MAX: usize = 1 << 12;

/// The property (`metadata_props`) that names the numbers of a row, as an array of texts in JSON.
pub(super) const FEATURES: &str = "tidegate.features";

#[derive(Debug, Default)]
pub(super) struct ModelFile<'a> {
    pub(super) producer: &'a str,
    /// Text of the property [`FEATURES`]; empty where there is none.
    pub(super) features: &'a str,
    /// Versions of the operators by domain; the empty one is ONNX's own.
    pub(super) opsets: Vec<(&'a str, i64)>,
    pub(super) nodes: Vec<GraphNode<'a>>,
    pub(super) constants: Vec<Message<'a>>,
    pub(super) inputs: Vec<Port<'a>>,
    pub(super) outputs: Vec<Port<'a>>,
}

#[derive(Debug, Default)]
pub(super) struct GraphNode<'a> {
    pub(super) name: &'a str,
    pub(super) domain: &'a str,
    pub(super) operator: &'a str,
    pub(super) inputs: Vec<&'a str>,
    pub(super) outputs: Vec<&'a str>,
    pub(super) attributes: Vec<(&'a str, Message<'a>)>,
}

/// An input or an output of the graph.
#[derive(Debug, Default)]
pub(super) struct Port<'a> {
    pub(super) name: &'a str,
    /// `TensorProto.DataType`; 0 where it is no tensor.
    pub(super) kind: i64,
    /// Sizes where they are stated; `None` where there is no shape.
    pub(super) sizes: Option<Vec<Option<i64>>>,
}

/// Numbers of `TensorProto.DataType`.
pub(super) mod kind {
    pub(crate) const FLOAT: i64 = 1;
    pub(crate) const INT32: i64 = 6;
    pub(crate) const INT64: i64 = 7;
    pub(crate) const TEXT: i64 = 8;
    pub(crate) const BOOL: i64 = 9;
    pub(crate) const DOUBLE: i64 = 11;
}

impl<'a> ModelFile<'a> {
    /// Reads `ModelProto`.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Problem> {
        let mut file = Self::default();
        let mut graphs = 0;
        for field in Message::of_file(bytes).fields() {
            match field? {
                (2, producer) => file.producer = producer.text()?,
                (8, opset) => {
                    bound("opsets", file.opsets.len(), PARTS_MAX)?;
                    file.opsets.push(opset_of(opset.message()?)?);
                }
                (7, graph) => {
                    file.read_graph(graph.message()?)?;
                    graphs += 1;
                }
                (14, property) => {
                    if let (FEATURES, names) = property_of(property.message()?)? {
                        file.features = names;
                    }
                }
                (25, _) => {
                    return Err(Problem::new(
                        "functions",
                        format!("are not supported; {IN_A_WORKER}"),
                    ));
                }
                _ => {}
            }
        }
        match graphs {
            1 => Ok(file),
            _ => Err(Problem::new("model", "is no ONNX file: it holds no graph")),
        }
    }

    /// Reads a graph within another, which has no versions of its own.
    pub(super) fn of_graph(graph: Message<'a>) -> Result<Self, Problem> {
        let mut file = Self::default();
        file.read_graph(graph)?;
        Ok(file)
    }

    /// Returns how often each value is read, by nodes and as an output.
    pub(super) fn reads(&self) -> HashMap<&'a str, usize> {
        let mut reads = HashMap::new();
        let outputs = self.outputs.iter().map(|port| port.name);
        for name in self.nodes.iter().flat_map(|node| &node.inputs).copied().chain(outputs) {
            *reads.entry(name).or_default() += 1;
        }
        reads
    }

    /// Reads `GraphProto`.
    fn read_graph(&mut self, graph: Message<'a>) -> Result<(), Problem> {
        for field in graph.fields() {
            match field? {
                (1, node) => {
                    bound("nodes", self.nodes.len(), NODES_MAX)?;
                    self.nodes.push(GraphNode::read(node.message()?)?);
                }
                (5, constant) => {
                    bound("constants", self.constants.len(), NODES_MAX)?;
                    self.constants.push(constant.message()?);
                }
                (11, input) => {
                    bound("inputs", self.inputs.len(), NODES_MAX)?;
                    self.inputs.push(Port::read(input.message()?)?);
                }
                (12, output) => {
                    bound("outputs", self.outputs.len(), PARTS_MAX)?;
                    self.outputs.push(Port::read(output.message()?)?);
                }
                (15, _) => return Err(Problem::new("sparse constants", "are not supported")),
                _ => {}
            }
        }
        Ok(())
    }
}

impl<'a> GraphNode<'a> {
    /// Reads `NodeProto`.
    fn read(message: Message<'a>) -> Result<Self, Problem> {
        let mut node = Self::default();
        for field in message.fields() {
            match field? {
                (1, input) => {
                    bound("inputs of a node", node.inputs.len(), PARTS_MAX)?;
                    node.inputs.push(input.text()?);
                }
                (2, output) => {
                    bound("outputs of a node", node.outputs.len(), PARTS_MAX)?;
                    node.outputs.push(output.text()?);
                }
                (3, name) => node.name = name.text()?,
                (4, operator) => node.operator = operator.text()?,
                (5, attribute) => {
                    bound("attributes of a node", node.attributes.len(), PARTS_MAX)?;
                    let attribute = attribute.message()?;
                    node.attributes.push((find_text(attribute, 1)?, attribute));
                }
                (7, domain) => node.domain = domain.text()?,
                _ => {}
            }
        }
        if node.domain == "ai.onnx" {
            node.domain = "";
        }
        Ok(node)
    }

    /// Returns what to call it in an error.
    pub(super) fn place(&self) -> String {
        let name = match self.name {
            "" => self.outputs.first().copied().unwrap_or_default(),
            name => name,
        };
        format!("node `{name}` ({})", self.operator)
    }
}

impl<'a> Port<'a> {
    /// Reads `ValueInfoProto` with the `TypeProto` of a tensor.
    fn read(message: Message<'a>) -> Result<Self, Problem> {
        let mut port = Self::default();
        for field in message.fields() {
            match field? {
                (1, name) => port.name = name.text()?,
                (2, kind) => port.read_type(kind.message()?)?,
                _ => {}
            }
        }
        Ok(port)
    }

    fn read_type(&mut self, kind: Message<'a>) -> Result<(), Problem> {
        for tensor in kind.fields() {
            let (1, tensor) = tensor? else { continue };
            for field in tensor.message()?.fields() {
                match field? {
                    (1, kind) => self.kind = kind.integer()?,
                    (2, shape) => self.sizes = Some(sizes_of(shape.message()?)?),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Reads `TensorShapeProto`.
fn sizes_of(shape: Message<'_>) -> Result<Vec<Option<i64>>, Problem> {
    let mut sizes = Vec::new();
    for field in shape.fields() {
        let (1, size) = field? else { continue };
        bound("dimensions", sizes.len(), PARTS_MAX)?;
        let mut stated = None;
        for field in size.message()?.fields() {
            if let (1, size) = field? {
                stated = Some(size.integer()?);
            }
        }
        sizes.push(stated);
    }
    Ok(sizes)
}

/// Reads `OperatorSetIdProto`.
/// Reads `StringStringEntryProto`.
fn property_of(property: Message<'_>) -> Result<(&str, &str), Problem> {
    let (mut key, mut value) = ("", "");
    for field in property.fields() {
        match field? {
            (1, text) => key = text.text()?,
            (2, text) => value = text.text()?,
            _ => {}
        }
    }
    Ok((key, value))
}

fn opset_of(message: Message<'_>) -> Result<(&str, i64), Problem> {
    let (mut domain, mut version) = ("", 0);
    for field in message.fields() {
        match field? {
            (1, name) => domain = name.text()?,
            (2, number) => version = number.integer()?,
            _ => {}
        }
    }
    Ok((if domain == "ai.onnx" { "" } else { domain }, version))
}

/// Reads `TensorProto`: its name and its value.
pub(super) fn tensor<'a>(
    message: Message<'a>,
    texts: &mut TextInterner,
) -> Result<(&'a str, Tensor), Problem> {
    let name = find_text(message, 8)?;
    let mut read = || -> Result<Tensor, Problem> {
        let fields = TensorFields::read(message)?;
        fields.value(texts).map_err(|reason| Problem::new(format!("constant `{name}`"), reason))
    };
    Ok((name, read()?))
}

/// The fields of a tensor, of which one holds its data.
#[derive(Default)]
struct TensorFields<'a> {
    sizes: Vec<i64>,
    kind: i64,
    floats: Vec<f32>,
    /// Of `int32_data`, which also holds what is smaller, or of `int64_data`.
    integers: Vec<i64>,
    texts: Vec<&'a str>,
    doubles: Vec<f64>,
    raw: Option<&'a [u8]>,
    is_elsewhere: bool,
}

impl<'a> TensorFields<'a> {
    fn read(message: Message<'a>) -> Result<Self, Problem> {
        let mut tensor = Self::default();
        for field in message.fields() {
            match field? {
                (1, sizes) => sizes.integers_into(&mut tensor.sizes)?,
                (2, kind) => tensor.kind = kind.integer()?,
                (4, floats) => floats.floats_into(&mut tensor.floats)?,
                (5 | 7, integers) => integers.integers_into(&mut tensor.integers)?,
                (6, text) => tensor.texts.push(text.text()?),
                (9, raw) => tensor.raw = Some(raw.message()?.bytes),
                (10, doubles) => doubles.doubles_into(&mut tensor.doubles)?,
                (14, Wire::Varint(place)) => tensor.is_elsewhere = place == 1,
                _ => {}
            }
        }
        Ok(tensor)
    }

    fn value(self, texts: &mut TextInterner) -> Result<Tensor, String> {
        if self.is_elsewhere {
            return Err("lies in another file; save the model as one".to_owned());
        }
        let shape = Shape::of_sizes(&self.sizes)?;
        let data = match (self.kind, self.raw) {
            (kind::FLOAT, Some(raw)) => Data::Floats(numbers(raw, f32::from_le_bytes)?),
            (kind::DOUBLE, Some(raw)) => Data::Doubles(numbers(raw, f64::from_le_bytes)?),
            (kind::INT64, Some(raw)) => Data::Integers(numbers(raw, i64::from_le_bytes)?),
            (kind::INT32, Some(raw)) => {
                Data::Integers(numbers(raw, |bytes| i32::from_le_bytes(bytes).into())?)
            }
            (kind::BOOL, Some(raw)) => Data::Flags(numbers(raw, |[byte]| byte != 0)?),
            (kind::FLOAT, None) => Data::Floats(self.floats),
            (kind::DOUBLE, None) => Data::Doubles(self.doubles),
            (kind::INT64 | kind::INT32, None) => Data::Integers(self.integers),
            (kind::BOOL, None) => {
                Data::Flags(self.integers.iter().map(|number| *number != 0).collect())
            }
            (kind::TEXT, _) => {
                let codes = self.texts.iter().map(|text| texts.code(text));
                Data::Texts(codes.collect::<Result<Vec<TextCode>, _>>()?)
            }
            (kind, _) => return Err(format!("data type {kind} is not supported; {IN_A_WORKER}")),
        };
        Tensor::new(shape, data)
    }
}

fn numbers<const SIZE: usize, T>(
    raw: &[u8],
    of: impl Fn([u8; SIZE]) -> T,
) -> Result<Vec<T>, String> {
    match raw.as_chunks::<SIZE>() {
        (numbers, []) => Ok(numbers.iter().map(|bytes| of(*bytes)).collect()),
        _ => Err(format!("{} bytes are no numbers of {SIZE}", raw.len())),
    }
}

/// Finds a text by its field's number; empty where it is not there.
fn find_text(message: Message<'_>, number: u64) -> Result<&str, Problem> {
    let mut found = "";
    for field in message.fields() {
        match field? {
            (at, text) if at == number => found = text.text()?,
            _ => {}
        }
    }
    Ok(found)
}

fn bound(what: &str, count: usize, most: usize) -> Result<(), Problem> {
    match count < most {
        true => Ok(()),
        false => Err(Problem::new("model", format!("has more than {most} {what}"))),
    }
}
