//! Operators that compute nothing: they put elements elsewhere, or give them another shape.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::graph::{Call, Operator};
use crate::onnx::value::{Element, RANK_MAX, Shape, Value, by_element};

/// `Identity`, and `ZipMap`: the columns of a map are the classes in order.
#[derive(Debug)]
pub(super) struct Identity;

/// `Reshape`; 0 keeps a size, one -1 takes what is left.
#[derive(Debug)]
pub(super) struct Reshape(Vec<i64>);

#[derive(Debug)]
pub(super) struct Flatten {
    axis: i64,
}

/// `Squeeze` and `Unsqueeze`.
#[derive(Debug)]
pub(super) struct Ones {
    axes: Option<Vec<i64>>,
    is_added: bool,
}

#[derive(Debug)]
pub(super) struct Concat {
    axis: i64,
}

#[derive(Debug)]
pub(super) struct Transpose {
    order: Vec<i64>,
}

/// `Slice` forwards.
#[derive(Debug)]
pub(super) struct Slice {
    /// Axis, start, end and step.
    cuts: Vec<[i64; 4]>,
}

/// `Gather`, and `ArrayFeatureExtractor`, which takes from the last axis.
#[derive(Debug)]
pub(super) struct Gather {
    /// `None` for the last, with the indices as one list.
    axis: Option<i64>,
}

/// `Shape`.
#[derive(Debug)]
pub(super) struct Sizes;

/// `ConstantOfShape`.
#[derive(Debug)]
pub(super) struct Filled(Value);

/// Copies a value, with another shape of as many elements.
pub(super) fn copy(
    call: &mut Call<'_>,
    from: &Value,
    shape: Shape,
    out: &mut Value,
) -> Result<(), String> {
    if shape.elements() != from.data.len() {
        return Err(format!("{} elements do not make {shape}", from.data.len()));
    }
    by_element!(&from.data, elements => {
        call.room(out, shape)?.copy_from_slice(elements);
    });
    Ok(())
}

impl Operator for Identity {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        copy(call, value, value.shape, &mut out[0])
    }
}

impl Reshape {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let sizes = from.integers_or_input("shape", 1)?;
        sizes.map(Self).ok_or_else(|| from.problem("shape", "is not given"))
    }
}

impl Operator for Reshape {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let size = |(axis, size): (usize, &i64)| match *size {
            0 => value.shape.sizes().get(axis).copied().ok_or("keeps a size that is not there"),
            -1 => Ok(1),
            size => usize::try_from(size).map_err(|_| "has a negative size"),
        };
        let mut sizes = [0; RANK_MAX];
        if self.0.len() > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        for (room, wanted) in sizes.iter_mut().zip(self.0.iter().enumerate()) {
            *room = size(wanted)?;
        }
        let sizes = &mut sizes[..self.0.len()];
        let known = Shape::checked(sizes.iter().copied())?.elements();
        if let Some(open) = self.0.iter().position(|size| *size == -1) {
            sizes[open] = value.data.len().checked_div(known).unwrap_or(0);
        }
        copy(call, value, Shape::checked(sizes.iter().copied())?, &mut out[0])
    }
}

impl Flatten {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { axis: from.integer("axis", 1)? })
    }
}

impl Operator for Flatten {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let rank = value.shape.sizes().len();
        let axis = if self.axis == rank as i64 { rank } else { value.shape.axis(self.axis)? };
        let (before, _, after) = value.shape.around(axis..axis);
        copy(call, value, Shape::of(&[before, after]), &mut out[0])
    }
}

impl Ones {
    pub(super) fn read(from: &Attributes<'_, '_>, is_added: bool) -> Result<Self, Problem> {
        let axes = from.integers_or_input("axes", 1)?;
        match axes.is_none() && is_added {
            true => Err(from.problem("axes", "are not given")),
            false => Ok(Self { axes, is_added }),
        }
    }
}

impl Operator for Ones {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let sizes = value.shape.sizes();
        let Some(axes) = &self.axes else {
            let kept = sizes.iter().copied().filter(|size| *size != 1);
            return copy(call, value, Shape::checked(kept)?, &mut out[0]);
        };
        let rank = sizes.len() + if self.is_added { axes.len() } else { 0 };
        let is_one = |axis: usize| {
            axes.iter().any(|one| *one == axis as i64 || *one + rank as i64 == axis as i64)
        };
        let mut sizes = sizes.iter().copied();
        let shape = if self.is_added {
            Shape::checked((0..rank).map(|axis| match is_one(axis) {
                true => 1,
                false => sizes.next().unwrap_or(1),
            }))?
        } else {
            let kept = sizes.enumerate().filter(|(axis, size)| !(is_one(*axis) && *size == 1));
            Shape::checked(kept.map(|(_, size)| size))?
        };
        copy(call, value, shape, &mut out[0])
    }
}

impl Concat {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { axis: from.integer("axis", 1)? })
    }

    fn elements<T: Element>(&self, call: &mut Call<'_>, out: &mut Value) -> Result<(), String> {
        let first = call.input(0)?.shape;
        let axis = first.axis(self.axis)?;
        let (before, _, after) = first.around(axis..axis + 1);
        let mut along = 0;
        for index in 0..call.inputs() {
            let shape = call.input(index)?.shape;
            if shape.sizes().len() != first.sizes().len() {
                return Err(format!("{first} and {shape} do not go together"));
            }
            let (other_before, own, other_after) = shape.around(axis..axis + 1);
            if (other_before, other_after) != (before, after) {
                return Err(format!("{first} and {shape} do not go together"));
            }
            along += own;
        }
        let sizes = first.sizes().iter().enumerate();
        let sizes = sizes.map(|(at, size)| if at == axis { along } else { *size });
        let room = call.room::<T>(out, Shape::checked(sizes)?)?;
        let width = along * after;
        let mut start = 0;
        for index in 0..call.inputs() {
            let value = call.input(index)?;
            let own = value.shape.sizes()[axis] * after;
            let elements = value.elements::<T>()?;
            if own > 0 {
                let rows = room.chunks_exact_mut(width).zip(elements.chunks_exact(own));
                rows.for_each(|(room, own_row)| {
                    room[start..start + own].copy_from_slice(own_row);
                });
            }
            start += own;
        }
        Ok(())
    }
}

impl Operator for Concat {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        fn concat<T: Element>(
            _: &[T],
            concat: &Concat,
            call: &mut Call<'_>,
            out: &mut Value,
        ) -> Result<(), String> {
            concat.elements::<T>(call, out)
        }
        by_element!(&call.input(0)?.data, elements => concat(elements, self, call, &mut out[0]))
    }
}

impl Transpose {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { order: from.integers("perm")? })
    }
}

impl Operator for Transpose {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let [rows, columns] = *value.shape.sizes() else {
            return Err(format!("{} is no table", value.shape));
        };
        if self.order == [0, 1] {
            return copy(call, value, value.shape, &mut out[0]);
        }
        by_element!(&value.data, elements => {
            let room = call.room(&mut out[0], Shape::of(&[columns, rows]))?;
            for (index, room) in room.iter_mut().enumerate() {
                *room = elements[index % rows * columns + index / rows];
            }
        });
        Ok(())
    }
}

impl Slice {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        let given = |name, index| {
            from.integers_or_input(name, index)?.ok_or_else(|| from.problem(name, "are not given"))
        };
        let (starts, ends) = (given("starts", 1)?, given("ends", 2)?);
        let axes = from.integers_or_input("axes", 3)?;
        let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = from.integers_or_input("steps", 4)?;
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
        for [axis, start, end, step] in &self.cuts {
            let axis = shape.axis(*axis)?;
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
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
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

impl Gather {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { axis: Some(from.integer("axis", 0)?) })
    }

    pub(super) fn of_features() -> Self {
        Self { axis: None }
    }
}

impl Operator for Gather {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let (value, indices) = (call.input(0)?, call.input(1)?);
        let places = indices.elements::<i64>()?;
        let axis = value.shape.axis(self.axis.unwrap_or(-1))?;
        let (before, along, after) = value.shape.around(axis..axis + 1);
        let sizes = value.shape.sizes();
        let shape = match self.axis {
            Some(_) => {
                let chosen = sizes[..axis].iter().chain(indices.shape.sizes());
                Shape::checked(chosen.chain(&sizes[axis + 1..]).copied())?
            }
            // A list counts as one row.
            None if sizes.len() == 1 => Shape::of(&[1, places.len()]),
            None => Shape::checked(sizes[..axis].iter().copied().chain([places.len()]))?,
        };
        let place = |index: i64| {
            let place = if index < 0 { index + along as i64 } else { index };
            let place = usize::try_from(place).ok().filter(|place| *place < along);
            place.ok_or_else(|| format!("there is no {index} among {along}"))
        };
        by_element!(&value.data, elements => {
            let room = call.room(&mut out[0], shape)?;
            let mut at = 0;
            for outer in 0..before {
                for index in places {
                    let from = (outer * along + place(*index)?) * after;
                    room[at..at + after].copy_from_slice(&elements[from..from + after]);
                    at += after;
                }
            }
        });
        Ok(())
    }
}

impl Operator for Sizes {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let shape = call.input(0)?.shape;
        let room = call.room::<i64>(&mut out[0], Shape::of(&[shape.sizes().len()]))?;
        room.iter_mut().zip(shape.sizes()).for_each(|(room, size)| *room = *size as i64);
        Ok(())
    }
}

impl Filled {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        use crate::onnx::value::Data;
        let value = from.tensor("value")?;
        let value =
            value.unwrap_or(Value { shape: Shape::of(&[1]), data: Data::Floats(vec![0.0]) });
        match value.data.len() {
            1 => Ok(Self(value)),
            _ => Err(from.problem("value", "is not one element")),
        }
    }
}

impl Operator for Filled {
    fn run(&self, call: &mut Call<'_>, out: &mut [Value; 2]) -> Result<(), String> {
        let sizes = call.input(0)?.elements::<i64>()?;
        if sizes.len() > RANK_MAX {
            return Err(format!("more than {RANK_MAX} dimensions are not supported"));
        }
        let sizes = sizes.iter().map(|size| usize::try_from(*size).unwrap_or(0));
        let shape = Shape::checked(sizes)?;
        by_element!(&self.0.data, elements => call.room(&mut out[0], shape)?.fill(elements[0]));
        Ok(())
    }
}
