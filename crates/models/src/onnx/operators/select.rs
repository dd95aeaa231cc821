//! Computes `Where`: the first value where a flag is set, else the second.
//!
//! Values may be of any kind, both of the same. All three are repeated to one shape
//! (`elementwise.rs`). Refuses anything but flags as the condition.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::elementwise::{Places, broadcast, steps};
use crate::onnx::tensor::{Element, Shape, Tensor, by_element};

/// The first value where a flag is set, else the second.
#[derive(Debug)]
pub(super) struct Where;

impl Operator for Where {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let (flags, a, b) = (call.input(0)?, call.input(1)?, call.input(2)?);
        let shape = broadcast(flags.shape, broadcast(a.shape, b.shape)?)?;
        by_element!(&a.data, a_elements => {
            let sides = (&a_elements[..], b.elements()?);
            let chosen = flags.elements()?;
            let room = call.room(&mut out[0], shape)?;
            choose(chosen, sides, places(shape, [flags, a, b]), room);
            Ok(())
        })
    }
}

/// A way through all places of three tensors that are repeated to one shape.
fn places(shape: Shape, tensors: [&Tensor; 3]) -> impl Iterator<Item = [usize; 3]> {
    let steps = tensors.map(|tensor| steps(tensor.shape));
    let mut places = Places::new(shape);
    std::iter::repeat_with(move || {
        let at = steps.map(|steps| places.of(steps));
        places.advance();
        at
    })
}

fn choose<T: Element>(
    flags: &[bool],
    (a, b): (&[T], &[T]),
    places: impl Iterator<Item = [usize; 3]>,
    room: &mut [T],
) {
    for (room, [flag, a_at, b_at]) in room.iter_mut().zip(places) {
        *room = if flags[flag] { a[a_at] } else { b[b_at] };
    }
}
