//! Computes element by element, of one tensor or of two, and repeats the smaller one.
//!
//! Invariant: what is repeated along a dimension of size 1, and how, is ONNX's multidirectional
//! broadcasting. Shapes that do not go together are an error, as are elements of another kind than
//! the operator names.
//! Also here, for `Where` and `Gemm`: the common shape, the steps of a repeated tensor, and a way
//! through all places.
//! What is computed is in `operators/`.

use super::call::OperatorCall;
use super::tensor::{Element, RANK_MAX, Shape, Tensor};

/// Makes an element of each.
pub(super) fn each<T: Element, O: Element>(
    call: &mut OperatorCall<'_>,
    value: &Tensor,
    out: &mut Tensor,
    of: impl Fn(T) -> O,
) -> Result<(), String> {
    let elements = value.elements::<T>()?;
    let room = call.room::<O>(out, value.shape)?;
    room.iter_mut().zip(elements).for_each(|(room, element)| *room = of(*element));
    Ok(())
}

/// Combines two tensors element by element.
pub(super) fn pairwise<T: Element, O: Element>(
    call: &mut OperatorCall<'_>,
    (a, b): (&Tensor, &Tensor),
    out: &mut Tensor,
    of: impl Fn(T, T) -> O,
) -> Result<(), String> {
    let shape = broadcast(a.shape, b.shape)?;
    let (a_steps, b_steps) = (steps(a.shape), steps(b.shape));
    let (a, b) = ((a.shape, a.elements::<T>()?), (b.shape, b.elements::<T>()?));
    let room = call.room::<O>(out, shape)?;
    if a.0 == b.0 {
        let pairs = a.1.iter().zip(b.1);
        room.iter_mut().zip(pairs).for_each(|(room, (a, b))| *room = of(*a, *b));
        return Ok(());
    }
    let columns = shape.padded()[RANK_MAX - 1];
    if columns == 0 {
        return Ok(());
    }
    let mut places = Places::new(shape);
    for room in room.chunks_exact_mut(columns) {
        let (a, b) = (&a.1[places.of(a_steps)..], &b.1[places.of(b_steps)..]);
        match (a_steps[RANK_MAX - 1], b_steps[RANK_MAX - 1]) {
            (0, 0) => room.fill(of(a[0], b[0])),
            (0, _) => room.iter_mut().zip(b).for_each(|(room, b)| *room = of(a[0], *b)),
            (_, 0) => room.iter_mut().zip(a).for_each(|(room, a)| *room = of(*a, b[0])),
            _ => {
                let pairs = a.iter().zip(b);
                room.iter_mut().zip(pairs).for_each(|(room, (a, b))| *room = of(*a, *b));
            }
        }
        places.advance_row();
    }
    Ok(())
}

/// Returns the shape that two values are repeated to.
pub(super) fn broadcast(a: Shape, b: Shape) -> Result<Shape, String> {
    let rank = a.sizes().len().max(b.sizes().len());
    let mut sizes = [1; RANK_MAX];
    for ((size, a), b) in sizes.iter_mut().zip(a.padded()).zip(b.padded()) {
        *size = match (a, b) {
            (1, b) => b,
            (a, 1) => a,
            (a, b) if a == b => a,
            _ => return Err(format!("{a} and {b} elements do not go together")),
        };
    }
    Shape::checked(sizes[RANK_MAX - rank..].iter().copied())
}

/// Returns how far apart the neighbours along each axis stand; 0 where one is repeated.
pub(super) fn steps(shape: Shape) -> [usize; RANK_MAX] {
    let mut steps = [0; RANK_MAX];
    let mut next = 1;
    for (step, size) in steps.iter_mut().zip(shape.padded()).rev() {
        *step = if size == 1 { 0 } else { next };
        next *= size;
    }
    steps
}

/// A way through all places of a shape, the last axis first.
pub(super) struct Places {
    sizes: [usize; RANK_MAX],
    at: [usize; RANK_MAX],
}

impl Places {
    pub(super) fn new(shape: Shape) -> Self {
        Self { sizes: shape.padded(), at: [0; RANK_MAX] }
    }

    pub(super) fn of(&self, steps: [usize; RANK_MAX]) -> usize {
        self.at.iter().zip(steps).map(|(at, step)| at * step).sum()
    }

    pub(super) fn advance(&mut self) {
        self.advance_from(RANK_MAX - 1);
    }

    fn advance_row(&mut self) {
        self.advance_from(RANK_MAX - 2);
    }

    fn advance_from(&mut self, axis: usize) {
        for axis in (0..=axis).rev() {
            self.at[axis] += 1;
            if self.at[axis] < self.sizes[axis] {
                return;
            }
            self.at[axis] = 0;
        }
    }
}
