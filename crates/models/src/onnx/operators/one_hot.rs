//! Computes `OneHotEncoder` of ONNX-ML: a float for each category, 1 for the one that an element
//! is, else 0.
//!
//! Categories are integers or texts. Floats and doubles are cut to integers first. Of a category
//! given twice the last place counts, as in ONNX Runtime.
//! Refuses: more than two dimensions, flags, and where `zeros` is 0, a category that is not known.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use std::collections::HashMap;

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Data, Shape, Tensor, TextCode};
use crate::trees::forest::OUTPUTS_MAX;

#[derive(Debug)]
pub(super) struct OneHotEncoder {
    places: Places,
    count: usize,
    /// Whether an element that is no category gets zeros only.
    is_lenient: bool,
    /// What it encodes, for errors.
    input: String,
}

/// Where the 1 of each category stands.
#[derive(Debug)]
enum Places {
    Integers(HashMap<i64, usize>),
    Texts(HashMap<TextCode, usize>),
}

impl OneHotEncoder {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let is_lenient = from.flag("zeros", true)?;
        let integers = from.exact_integers("cats_int64s")?;
        let texts = from.text_codes("cats_strings")?;
        let count = integers.len().max(texts.len());
        if !integers.is_empty() && !texts.is_empty() {
            return Err(from.problem("cats_int64s", "and `cats_strings` are both given"));
        }
        if !(1..=OUTPUTS_MAX).contains(&count) {
            let reason = format!("are {count} categories, not 1 to {OUTPUTS_MAX}");
            return Err(from.problem("cats_int64s", &reason));
        }
        let places = match texts.is_empty() {
            true => Places::Integers(integers.into_iter().zip(0..).collect()),
            false => Places::Texts(texts.into_iter().zip(0..).collect()),
        };
        let input = from.node.inputs.first().copied().unwrap_or_default().to_owned();
        Ok(Self { places, count, is_lenient, input })
    }

    fn place(&self, data: &Data, index: usize) -> Result<Option<usize>, String> {
        match (&self.places, data) {
            (Places::Texts(places), Data::Texts(codes)) => Ok(places.get(&codes[index]).copied()),
            (Places::Integers(places), data) => {
                let integer = match data {
                    Data::Floats(numbers) => numbers[index] as i64,
                    Data::Doubles(numbers) => numbers[index] as i64,
                    Data::Integers(numbers) => numbers[index],
                    other => return Err(format!("{} are no categories here", other.plural())),
                };
                Ok(places.get(&integer).copied())
            }
            (Places::Texts(_), other) => Err(format!("{} are no texts", other.plural())),
        }
    }
}

impl Operator for OneHotEncoder {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        let sizes = value.shape.sizes();
        if sizes.len() > 2 {
            return Err(format!("rows are wanted, not {}", value.shape));
        }
        let shape = Shape::checked(sizes.iter().copied().chain([self.count]))?;
        let is_lenient = self.is_lenient || call.is_trial();
        let width = value.rows().1.max(1);
        let room = call.room::<f32>(&mut out[0], shape)?;
        room.fill(0.0);
        for index in 0..value.data.len() {
            match self.place(&value.data, index)? {
                Some(place) => room[index * self.count + place] = 1.0,
                None if is_lenient => {}
                None => {
                    let (row, input) = (index / width, &self.input);
                    return Err(format!("row {row} of `{input}` is no category that it knows"));
                }
            }
        }
        Ok(())
    }
}
