//! Computes `Gather`, and `ArrayFeatureExtractor` of ONNX-ML, which takes from the last axis.
//!
//! Elements may be of any kind. An index of `Gather` below 0 counts from the end.
//! Refuses, when it runs: indices that are no integers, or outside the axis; any below 0 in
//! `ArrayFeatureExtractor`, as ONNX Runtime does. When it is read: a list for the latter with
//! integers that would be rounded.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Data, Shape, Tensor, by_element};

/// `Gather`, and `ArrayFeatureExtractor`, which takes from the last axis.
#[derive(Debug)]
pub(super) struct Gather {
    /// `None` for the last, with the indices as one list.
    axis: Option<i64>,
}

impl Gather {
    pub(super) fn read(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        Ok(Self { axis: Some(from.integer("axis", 0)?) })
    }

    /// Reads `ArrayFeatureExtractor`, by which scikit-learn's exports choose a class from a list.
    pub(super) fn of_features(from: &Attributes<'_, '_>) -> Result<Self, Problem> {
        if let Some(Data::Integers(list)) = from.constant(0).map(|value| &value.data) {
            from.expect_exact("X", list)?;
        }
        Ok(Self { axis: None })
    }
}

impl Operator for Gather {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
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
            let is_from_end = index < 0 && self.axis.is_some();
            let place = if is_from_end { index + along as i64 } else { index };
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
