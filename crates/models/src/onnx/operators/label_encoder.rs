//! Computes `LabelEncoder` of ONNX-ML: the value of each key, or a default.
//!
//! Keys and values are integers, floats or texts, and since version 4 doubles. Then they may be
//! tensors, and NaN is a key like another; before, it is none. Of a key given twice the first
//! counts; in version 1, which numbers texts, the last.
//! Refuses: keys and values that differ in number or are not of one kind, and elements of another
//! kind than the keys. Also integers that would be rounded.
//! A new version, kind or attribute needs a model by `golden/onnx_models.py`, with ONNX Runtime's
//! answers.

use std::collections::HashMap;
use std::hash::Hash;

use crate::error::Problem;
use crate::onnx::attributes::Attributes;
use crate::onnx::call::{Operator, OperatorCall};
use crate::onnx::tensor::{Data, Tensor, TextCode, by_element};

/// What a text or a number becomes that is no key, where the node does not say.
const DEFAULT_TEXT: &str = "_Unused";
const DEFAULT_INTEGER: i64 = -1;
const DEFAULT_FLOAT: f32 = -0.0;

#[derive(Debug)]
pub(super) struct LabelEncoder {
    keys: Keys,
    /// The value of each key, and behind them the default.
    values: Data,
    /// Whether NaN can be a key.
    finds_nan: bool,
}

/// The number of each key.
#[derive(Debug)]
enum Keys {
    Integers(HashMap<i64, usize>),
    Texts(HashMap<TextCode, usize>),
    /// Floats or doubles by the bits of the double.
    Reals(HashMap<u64, usize>),
}

impl LabelEncoder {
    pub(super) fn read(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        if from.opset == 1 {
            return Self::read_classes(from);
        }
        let keys = list(from, "keys")?;
        let mut values = list(from, "values")?;
        if keys.len() != values.len() {
            let reason = format!("are {} keys, but {} values", keys.len(), values.len());
            return Err(from.problem("keys", &reason));
        }
        push_default(from, &mut values)?;
        let finds_nan = from.opset >= 4;
        let keys = match keys {
            Data::Integers(keys) => Keys::Integers(first_places(keys)),
            Data::Texts(keys) => Keys::Texts(first_places(keys)),
            Data::Floats(keys) => {
                Keys::Reals(first_places(keys.into_iter().map(f64::from).map(bits)))
            }
            Data::Doubles(keys) => Keys::Reals(first_places(keys.into_iter().map(bits))),
            Data::Flags(_) => return Err(from.problem("keys", "are flags")),
        };
        Ok(Self { keys, values, finds_nan })
    }

    /// Version 1: texts become their places, or places their texts.
    fn read_classes(from: &mut Attributes<'_, '_>) -> Result<Self, Problem> {
        let classes = from.text_codes("classes_strings")?;
        let (text, integer) = (
            from.text("default_string", DEFAULT_TEXT)?,
            from.integer("default_int64", DEFAULT_INTEGER)?,
        );
        let numbers = 0..classes.len() as i64;
        match from.kind(0) {
            Some(Data::Integers(_)) => {
                let keys =
                    Keys::Integers(numbers.map(|number| (number, number as usize)).collect());
                let mut values = classes;
                values.push(code(from, text)?);
                Ok(Self { keys, values: Data::Texts(values), finds_nan: false })
            }
            _ => {
                let mut values: Vec<i64> = numbers.collect();
                values.push(integer);
                let keys = Keys::Texts(classes.into_iter().zip(0..).collect());
                Ok(Self { keys, values: Data::Integers(values), finds_nan: false })
            }
        }
    }

    /// Finds the number of the value of an element.
    fn find(&self, data: &Data, index: usize) -> Result<usize, String> {
        let real = |number: f64| match number.is_nan() && !self.finds_nan {
            true => None,
            false => Some(bits(number)),
        };
        let found = match (&self.keys, data) {
            (Keys::Integers(keys), Data::Integers(numbers)) => keys.get(&numbers[index]),
            (Keys::Texts(keys), Data::Texts(codes)) => keys.get(&codes[index]),
            (Keys::Reals(keys), Data::Floats(numbers)) => {
                real(numbers[index].into()).and_then(|bits| keys.get(&bits))
            }
            (Keys::Reals(keys), Data::Doubles(numbers)) => {
                real(numbers[index]).and_then(|bits| keys.get(&bits))
            }
            (_, other) => return Err(format!("{} are no keys here", other.plural())),
        };
        Ok(found.copied().unwrap_or(self.values.len() - 1))
    }
}

impl Operator for LabelEncoder {
    fn run(&self, call: &mut OperatorCall<'_>, out: &mut [Tensor; 2]) -> Result<(), String> {
        let value = call.input(0)?;
        by_element!(&self.values, values => {
            let room = call.room(&mut out[0], value.shape)?;
            for (index, room) in room.iter_mut().enumerate() {
                *room = values[self.find(&value.data, index)?];
            }
        });
        Ok(())
    }
}

/// Reads `keys_…` or `values_…`, of which one may be given.
fn list(from: &mut Attributes<'_, '_>, what: &str) -> Result<Data, Problem> {
    let names = ["strings", "int64s", "floats", "tensor"].map(|kind| format!("{what}_{kind}"));
    let mut found = Vec::new();
    for (kind, name) in
        names.iter().enumerate().filter(|(_, name)| from.has(name)).collect::<Vec<_>>()
    {
        found.push(match kind {
            0 => Data::Texts(from.text_codes(name)?),
            1 => Data::Integers(from.integers(name)?),
            2 => Data::Floats(from.floats(name)?),
            _ if from.opset < 4 => return Err(from.problem(name, "is not there before version 4")),
            _ => from
                .tensor(name)?
                .map(|tensor| tensor.data)
                .unwrap_or_else(|| Data::Flags(Vec::new())),
        });
    }
    match (found.pop(), found.len()) {
        (Some(list), 0) if list.len() > 0 => {
            if let Data::Integers(list) = &list {
                from.expect_exact(what, list)?;
            }
            Ok(list)
        }
        (Some(_), 0) => Err(from.problem(what, "are none")),
        (None, _) => Err(from.problem(what, "are not given")),
        _ => Err(from.problem(what, "are given twice")),
    }
}

/// Appends what an element gets that is no key.
fn push_default(from: &mut Attributes<'_, '_>, values: &mut Data) -> Result<(), Problem> {
    let (text, integer, float) = (
        from.text("default_string", DEFAULT_TEXT)?,
        from.integer("default_int64", DEFAULT_INTEGER)?,
        from.float("default_float", DEFAULT_FLOAT)?,
    );
    let tensor = if from.opset >= 4 { from.tensor("default_tensor")? } else { None };
    let mismatch = |from: &Attributes<'_, '_>| {
        from.problem("default_tensor", "is not one of the values' kind")
    };
    let text = code(from, text)?;
    match (values, tensor.map(|tensor| tensor.data)) {
        (Data::Texts(values), None) => values.push(text),
        (Data::Integers(values), None) => values.push(integer),
        (Data::Floats(values), None) => values.push(float),
        (Data::Doubles(values), None) => values.push(float.into()),
        (Data::Texts(values), Some(Data::Texts(one))) if one.len() == 1 => values.extend(one),
        (Data::Integers(values), Some(Data::Integers(one))) if one.len() == 1 => values.extend(one),
        (Data::Floats(values), Some(Data::Floats(one))) if one.len() == 1 => values.extend(one),
        (Data::Doubles(values), Some(Data::Doubles(one))) if one.len() == 1 => values.extend(one),
        _ => return Err(mismatch(from)),
    }
    Ok(())
}

fn code(from: &mut Attributes<'_, '_>, text: &str) -> Result<TextCode, Problem> {
    let code = from.texts.code(text);
    code.map_err(|reason| from.problem("default_string", &reason))
}

fn first_places<K: Hash + Eq>(keys: impl IntoIterator<Item = K>) -> HashMap<K, usize> {
    let mut places = HashMap::new();
    for (place, key) in keys.into_iter().enumerate() {
        places.entry(key).or_insert(place);
    }
    places
}

/// Bits that equal numbers share: one zero, one NaN.
fn bits(number: f64) -> u64 {
    match number {
        0.0 => 0.0_f64.to_bits(),
        number if number.is_nan() => f64::NAN.to_bits(),
        number => number.to_bits(),
    }
}
