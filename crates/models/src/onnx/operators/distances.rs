//! Computes how far rows are apart: `CDist` of Microsoft's domain, and `Scan` where its body does
//! just that.
//!
//! skl2onnx writes nearest neighbours and kernels of Gaussian processes as a `Scan`. Its state is
//! one table, and it goes over the rows of the other. Sums are taken in double precision
//! (`apart.rs`), and roots before rounding.
//! Refuses: any other body, and scans along other axes or backwards, with the hint to a worker
//! pool. When it runs, tables whose rows are not equally long.
//! A new metric needs a model by `golden/onnx_models.py`, with ONNX Runtime's answers.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::error::Problem;
use crate::onnx::apart::Metric;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::file::{GraphNode, ModelFile, tensor};
use crate::onnx::numeric::Numeric;
use crate::onnx::tensor::{Data, Shape, Tensor, TextInterner};
use crate::pause::pause;

/// `CDist`.
#[derive(Debug)]
pub(super) struct CDist(Distance);

/// A `Scan` that goes over the rows of its second input.
#[derive(Debug)]
pub(super) struct ScanDistances(Distance);

#[derive(Debug, Clone, Copy)]
struct Distance {
    metric: Metric,
    is_rooted: bool,
}

impl CDist {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let metric = Metric::SquaredEuclidean;
        match from.text("metric", "sqeuclidean")? {
            "sqeuclidean" => Ok(Self(Distance { metric, is_rooted: false })),
            "euclidean" => Ok(Self(Distance { metric, is_rooted: true })),
            other => Err(from.problem("metric", &format!("`{other}` is not known"))),
        }
    }
}

impl Operator for CDist {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        self.0.write(call, [0, 1], &mut out[0])
    }
}

impl ScanDistances {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let axes = [
            "scan_input_axes",
            "scan_input_directions",
            "scan_output_axes",
            "scan_output_directions",
        ];
        let mut is_plain = from.integer("num_scan_inputs", 1)? == 1;
        for name in axes {
            is_plain &= from.integers(name)?.iter().all(|number| *number == 0);
        }
        let body = from.graph("body")?.filter(|_| is_plain);
        let metric = body.map(|body| Body::metric(body, from.opset)).transpose()?.flatten();
        metric
            .map(|metric| Self(Distance { metric, is_rooted: false }))
            .ok_or_else(|| from.unsupported())
    }
}

impl Operator for ScanDistances {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let state = call.input(0)?;
        call.copy(state, state.shape, &mut out[0])?;
        // A list for each row that it goes over.
        self.0.write(call, [1, 0], &mut out[1])
    }
}

impl Distance {
    /// Writes how far each row of the first input is from each of the other.
    fn write(
        self,
        call: &mut OperatorCall<'_>,
        inputs: [usize; 2],
        out: &mut Tensor,
    ) -> Result<(), String> {
        let (rows, others) = (call.input(inputs[0])?, call.input(inputs[1])?);
        let ([count, width], [others_count, others_width]) =
            (rows.shape.sizes(), others.shape.sizes())
        else {
            return Err(format!("tables are wanted, not {} and {}", rows.shape, others.shape));
        };
        if width != others_width {
            return Err(format!("rows of {width} and {others_width} numbers have no distance"));
        }
        call.spend(rows.data.len().saturating_mul(*others_count))?;
        let shape = Shape::of(&[*count, *others_count]);
        match &rows.data {
            Data::Floats(_) => self.fill::<f32>((rows, others), call.room(out, shape)?),
            _ => self.fill::<f64>((rows, others), call.room(out, shape)?),
        }
    }

    fn fill<T: Numeric>(
        self,
        (rows, others): (&Tensor, &Tensor),
        room: &mut [T],
    ) -> Result<(), String> {
        let width = rows.rows().1.max(1);
        let others = others.elements::<T>()?;
        let rows = rows.elements::<T>()?.chunks_exact(width);
        for (row, room) in rows.zip(room.chunks_exact_mut((others.len() / width).max(1))) {
            pause();
            for (room, other) in room.iter_mut().zip(others.chunks_exact(width)) {
                let apart = self.metric.between(row, other);
                *room = T::rounded(if self.is_rooted { apart.sqrt() } else { apart });
            }
        }
        Ok(())
    }
}

/// The body of a `Scan`: its nodes by what they write, and its constants.
struct Body<'a> {
    file: ModelFile<'a>,
    constants: HashMap<&'a str, Tensor>,
    opset: i64,
}

impl<'a> Body<'a> {
    /// Returns the metric, where the body computes one.
    fn metric(file: ModelFile<'a>, opset: i64) -> Result<Option<Metric>, Problem> {
        let mut constants = HashMap::new();
        for constant in &file.constants {
            let (name, value) = tensor(*constant, &mut TextInterner::default())?;
            constants.insert(name, value);
        }
        let body = Self { file, constants, opset };
        let ([state, row], [last_state, list]) = (&body.file.inputs[..], &body.file.outputs[..])
        else {
            return Ok(None);
        };
        if body.source(last_state.name) != state.name {
            return Ok(None);
        }
        let Some(sum) = body.writer(list.name) else { return Ok(None) };
        if !body.is_by_row(sum)? {
            return Ok(None);
        }
        let below = |node: &GraphNode<'a>| body.writer(node.inputs.first()?);
        let (mut metric, mut inner) = match sum.operator {
            "ReduceSumSquare" => (Metric::SquaredEuclidean, below(sum)),
            "ReduceSum" => (Metric::Manhattan, below(sum)),
            _ => return Ok(None),
        };
        if let (Metric::Manhattan, Some(node)) = (metric, inner) {
            let mut node = node;
            if node.operator == "Pow" {
                let Some(power) = body.power(node) else { return Ok(None) };
                metric = Metric::Minkowski(power);
                let Some(raised) = below(node) else { return Ok(None) };
                node = raised;
            }
            inner = below(node).filter(|_| node.operator == "Abs");
        }
        let Some(difference) = inner.filter(|node| node.operator == "Sub") else { return Ok(None) };
        let sources: Vec<&str> = difference.inputs.iter().map(|name| body.source(name)).collect();
        let is_between = sources == [state.name, row.name] || sources == [row.name, state.name];
        Ok(is_between.then_some(metric))
    }

    /// The node that computes a value, behind any that only copy it.
    fn writer(&self, name: &str) -> Option<&GraphNode<'a>> {
        let name = self.source(name);
        self.file.nodes.iter().find(|node| node.outputs.first() == Some(&name))
    }

    /// The value that another is a copy of.
    fn source<'n>(&self, mut name: &'n str) -> &'n str
    where
        'a: 'n,
    {
        // No more often than there are nodes, whatever they copy.
        for _ in 0..self.file.nodes.len() {
            let copy = |node: &&GraphNode<'a>| node.outputs.first() == Some(&name);
            match self.file.nodes.iter().find(copy) {
                Some(node) if node.operator == "Identity" && !node.inputs.is_empty() => {
                    name = node.inputs[0];
                }
                _ => break,
            }
        }
        name
    }

    /// Whether a node adds up each row, and keeps no size for it.
    fn is_by_row(&self, node: &GraphNode<'a>) -> Result<bool, Problem> {
        let from = Attributes {
            node,
            opset: self.opset,
            texts: &mut TextInterner::default(),
            inputs: Vec::new(),
            is_constant: Vec::new(),
            known: RefCell::default(),
        };
        let axes = match node.inputs.get(1).and_then(|name| self.constants.get(name)) {
            Some(axes) => axes.elements::<i64>().unwrap_or_default().to_vec(),
            None => from.integers("axes")?,
        };
        Ok(matches!(axes[..], [1 | -1]) && !from.flag("keepdims", true)?)
    }

    /// The constant that a node raises to.
    fn power(&self, node: &GraphNode<'a>) -> Option<f64> {
        let power = self.constants.get(node.inputs.get(1)?)?;
        match &power.data {
            Data::Floats(powers) => powers.first().map(|power| f64::from(*power)),
            Data::Doubles(powers) => powers.first().copied(),
            Data::Integers(powers) => powers.first().map(|power| *power as f64),
            _ => None,
        }
    }
}
