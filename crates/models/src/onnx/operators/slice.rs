//! Computes `Slice` forwards, of elements of any kind.
//!
//! Starts, ends, axes and steps are constant inputs from version 10 on; before, they are attributes
//! without steps. Starts and ends beyond an axis are cut to it; below 0 they count from the end.
//! Refuses: steps that go backwards, and starts, ends, axes or steps that are no constants. Also an
//! axis that is named twice.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{RANK_MAX, Shape, Tensor, by_element};

/// `Slice` forwards.
#[derive(Debug)]
pub(super) struct Slice {
    /// Axis, start, end and step.
    cuts: Vec<[i64; 4]>,
}

impl Slice {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let given = |name, index| {
            from.integers_or_input(name, index, 10)?
                .ok_or_else(|| from.problem(name, "are not given"))
        };
        let (starts, ends) = (given("starts", 1)?, given("ends", 2)?);
        let axes = from.integers_or_input("axes", 3, 10)?;
        let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = match from.opset {
            10.. => from.integers_or_input("steps", 4, 10)?,
            _ => None,
        };
        let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
        if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
            return Err(from.problem("starts", "and `ends`, `axes` or `steps` differ in number"));
        }
        if steps.iter().any(|step| *step < 1) {
            return Err(from.problem("steps", "go backwards, which is not supported"));
        }
        let cuts = (0..starts.len()).map(|at| [axes[at], starts[at], ends[at], steps[at]]);
        Ok(Self { cuts: cuts.collect() })
    }

    /// Returns the first place, the step and the count for each axis.
    fn ways(&self, shape: Shape) -> Result<[(usize, usize, usize); RANK_MAX], String> {
        let padding = RANK_MAX - shape.sizes().len();
        let mut ways = shape.padded().map(|size| (0, 1, size));
        let mut is_cut = [false; RANK_MAX];
        for [axis, start, end, step] in &self.cuts {
            let axis = shape.axis(*axis)?;
            if std::mem::replace(&mut is_cut[axis], true) {
                return Err(format!("axis {axis} is cut twice"));
            }
            let size = shape.sizes()[axis] as i64;
            let place = |at: i64| if at < 0 { at.saturating_add(size) } else { at }.clamp(0, size);
            let (start, end) = (place(*start), place(*end));
            let count = (end - start).max(0) as u64;
            let count = count.div_ceil(*step as u64);
            ways[padding + axis] = (start as usize, *step as usize, count as usize);
        }
        Ok(ways)
    }
}

impl Operator for Slice {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let ways = self.ways(value.shape)?;
        let kept = &ways[RANK_MAX - value.shape.sizes().len()..];
        let shape = Shape::checked(kept.iter().map(|way| way.2))?;
        let [_, b_size, c_size, d_size] = value.shape.padded();
        by_element!(&value.data, elements => {
            let mut room = call.room(&mut out[0], shape)?.iter_mut();
            let along = |way: (usize, usize, usize)| (0..way.2).map(move |n| way.0 + n * way.1);
            for a in along(ways[0]) {
                for b in along(ways[1]) {
                    for c in along(ways[2]) {
                        let row = ((a * b_size + b) * c_size + c) * d_size;
                        let taken = room.by_ref().zip(along(ways[3]));
                        // The zip takes one more from the room when the way ends, so it is bounded.
                        taken.take(ways[3].2).for_each(|(room, d)| *room = elements[row + d]);
                    }
                }
            }
        });
        Ok(())
    }
}
