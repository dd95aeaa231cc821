//! Computes `Concat` of values of one kind, whichever it is.
//!
//! Refuses, when it runs: values of different kinds, or of sizes that differ beside the axis.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Element, Shape, Tensor, by_element};

#[derive(Debug)]
pub(super) struct Concat {
    axis: i64,
}

impl Concat {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let axis = from.integer_given("axis")?;
        Ok(Self { axis: axis.ok_or_else(|| from.problem("axis", "is not given"))? })
    }

    fn elements<T: Element>(
        &self,
        call: &mut OperatorCall<'_>,
        out: &mut Tensor,
    ) -> Result<(), String> {
        let first = call.input(0)?.shape;
        let axis = first.axis(self.axis)?;
        let (_, _, after) = first.around(axis..axis + 1);
        let mut along = 0;
        for index in 0..call.count() {
            let shape = call.input(index)?.shape;
            if shape.sizes().len() != first.sizes().len() {
                return Err(format!("{first} and {shape} do not go together"));
            }
            let pairs = first.sizes().iter().zip(shape.sizes()).enumerate();
            if pairs.into_iter().any(|(at, (a, b))| at != axis && a != b) {
                return Err(format!("{first} and {shape} do not go together"));
            }
            along += shape.sizes()[axis];
        }
        let sizes = first.sizes().iter().enumerate();
        let sizes = sizes.map(|(at, size)| if at == axis { along } else { *size });
        let room = call.room::<T>(out, Shape::checked(sizes)?)?;
        let width = along * after;
        let mut start = 0;
        for index in 0..call.count() {
            let value = call.input(index)?;
            let size = value.shape.sizes()[axis] * after;
            let elements = value.elements::<T>()?;
            if size > 0 {
                let rows = room.chunks_exact_mut(width).zip(elements.chunks_exact(size));
                rows.for_each(|(room, row)| {
                    room[start..start + size].copy_from_slice(row);
                });
            }
            start += size;
        }
        Ok(())
    }
}

impl Operator for Concat {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        fn concat<T: Element>(
            _: &[T],
            concat: &Concat,
            call: &mut OperatorCall<'_>,
            out: &mut Tensor,
        ) -> Result<(), String> {
            concat.elements::<T>(call, out)
        }
        by_element!(&call.input(0)?.data, elements => concat(elements, self, call, &mut out[0]))
    }
}
