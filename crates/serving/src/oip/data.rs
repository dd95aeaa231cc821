//! Reads the values of a tensor: `data` in JSON, flat or nested as its shape is, or binary ones.
//!
//! Invariant: memory is taken for what is there, never for what a shape promises. A tensor has as
//! many values as its shape. Numbers of JSON fit their data type; for FP16 any finite one does.
//! Binary ones may be infinite or NaN, and null is NaN.
//! Speed is measured by `bench/src/rows/models/oip.rs`. Which tensor is read, and its shape, are in
//! `request.rs`.

use crate::json::{Json, Kind, NumberTable, Parsed};
use crate::refusal;
use crate::tensor::{Data, Datatype};

/// Reads `data`, flat or nested, and checks that it fills the shape.
pub(super) fn values(json: &mut Json<'_>, datatype: Datatype, shape: &[usize]) -> Parsed<Data> {
    let wanted: usize = shape.iter().product();
    let at = json.peek()?.1;
    let mut data = match datatype {
        Datatype::Bytes => Data::Texts(Vec::new()),
        // Growing as they come would copy them twice over.
        _ => Data::Numbers(Vec::with_capacity(wanted.min(json.values_max()))),
    };
    let level = Level { datatype, shape, depth: 0 };
    level.read(json, wanted, &mut data)?;
    let count = match &data {
        Data::Numbers(numbers) => numbers.len(),
        Data::Texts(texts) => texts.len(),
    };
    match count == wanted {
        true => Ok(data),
        false => {
            let reason = format!("has {count} values, its shape {shape:?} wants {wanted}");
            Err(refusal::wrong(at, "data", &reason))
        }
    }
}

/// Makes data of a table that has its shape and data type; `None` for any other.
pub(super) fn fitting(table: NumberTable, datatype: Datatype, shape: &[usize]) -> Option<Data> {
    let NumberTable { mut numbers, sizes } = table;
    let fits = match sizes {
        Some(sizes) => shape == sizes,
        None => numbers.len() == shape.iter().product::<usize>(),
    };
    let is_numeric = datatype != Datatype::Bytes;
    (fits && is_numeric && convert(&mut numbers, datatype, 0).is_ok())
        .then_some(Data::Numbers(numbers))
}

/// An array of `data`, somewhere within its shape.
#[derive(Clone, Copy)]
struct Level<'s> {
    datatype: Datatype,
    shape: &'s [usize],
    /// How many arrays stand around this one.
    depth: usize,
}

impl Level<'_> {
    /// Reads the array: values, or arrays where data is nested as the shape is.
    fn read(self, json: &mut Json<'_>, wanted: usize, data: &mut Data) -> Parsed<()> {
        let (kind, at) = json.peek()?;
        if kind != Kind::Array {
            return Err(refusal::wrong(at, "data", "must be an array"));
        }
        let before = json.clone();
        if let Data::Numbers(numbers) = data
            && let Some(count) = json.numbers(numbers, wanted)
        {
            let start = numbers.len() - count;
            if convert(&mut numbers[start..], self.datatype, at).is_ok() {
                return self.fits(count, at);
            }
            // They are read anew, one by one, to see which does not fit as it is written.
            numbers.truncate(start);
            *json = before;
        }
        let mut count = 0;
        json.array(|json| {
            let (kind, at) = json.peek()?;
            count += 1;
            match kind {
                Kind::Array if self.depth + 1 < self.shape.len() => {
                    Self { depth: self.depth + 1, ..self }.read(json, wanted, data)
                }
                Kind::Array => Err(refusal::wrong(at, "data", "is nested deeper than its shape")),
                _ => value(json, (kind, at), self.datatype, data),
            }
        })?;
        self.fits(count, at)
    }

    /// An array inside another has as many elements as its dimension; the outermost may be flat.
    fn fits(self, count: usize, at: usize) -> Parsed<()> {
        let Self { shape, depth, .. } = self;
        if depth == 0 || count == shape[depth] {
            return Ok(());
        }
        let reason = format!("has an array of {count}, its shape {shape:?} wants {}", shape[depth]);
        Err(refusal::wrong(at, "data", &reason))
    }
}

fn value(
    json: &mut Json<'_>,
    (kind, at): (Kind, usize),
    datatype: Datatype,
    data: &mut Data,
) -> Parsed<()> {
    let numbers = match data {
        Data::Texts(texts) if kind == Kind::Text => {
            texts.push(json.text()?.decoded(&mut String::new()).to_owned());
            return Ok(());
        }
        Data::Texts(_) => return Err(refusal::wrong(at, "data", "must hold texts")),
        Data::Numbers(numbers) => numbers,
    };
    let is_truth = datatype == Datatype::Bool;
    let number = match kind {
        Kind::Number => {
            let written = json.number()?;
            let number = written.parse().unwrap_or(f64::INFINITY);
            if is_integer_of(datatype, written) {
                numbers.push(number);
                return Ok(());
            }
            number
        }
        Kind::True if is_truth => json.word("true").map(|()| 1.0)?,
        Kind::False if is_truth => json.word("false").map(|()| 0.0)?,
        Kind::Null => json.word("null").map(|()| f64::NAN)?,
        _ => return Err(refusal::wrong(at, "data", "must hold numbers")),
    };
    numbers.push(number);
    let last = numbers.len() - 1;
    convert(&mut numbers[last..], datatype, at)
}

/// Whether a number is one of 64 bits as it is written; the largest do not fit as doubles.
fn is_integer_of(datatype: Datatype, written: &str) -> bool {
    match datatype {
        Datatype::Int64 => written.parse::<i64>().is_ok(),
        Datatype::Uint64 => written.parse::<u64>().is_ok(),
        _ => false,
    }
}

/// Makes numbers what their data type holds.
fn convert(numbers: &mut [f64], datatype: Datatype, at: usize) -> Parsed<()> {
    // Loops without an exit, so that the CPU takes several numbers at once.
    let fits = |number: &f64| number.is_nan() | (*number as f32).is_finite();
    if datatype == Datatype::Fp32 && numbers.iter().fold(true, |all, number| all & fits(number)) {
        numbers.iter_mut().for_each(|number| *number = f64::from(*number as f32));
        return Ok(());
    }
    for number in numbers {
        if number.is_nan() {
            continue;
        }
        match datatype.convert(*number) {
            Some(converted) if converted.is_finite() => *number = converted,
            _ => {
                let reason = format!("holds {number}, which is no {}", datatype.name());
                return Err(refusal::wrong(at, "data", &reason));
            }
        }
    }
    Ok(())
}

/// Reads a binary tensor: values in little-endian order, texts each after its length in 4 bytes.
pub(super) fn decode(
    name: &str,
    bytes: &[u8],
    datatype: Datatype,
    shape: &[usize],
) -> Parsed<Data> {
    let wanted: usize = shape.iter().product();
    let misfit = |found: String| {
        let reason = format!("has {found}, its shape {shape:?} wants {wanted} values");
        refusal::bad(format!("binary data of input `{name}` {reason}"))
    };
    if datatype != Datatype::Bytes {
        let size = datatype.bytes();
        if bytes.len() != wanted * size {
            return Err(misfit(format!("{} bytes", bytes.len())));
        }
        let numbers = match datatype {
            // Most are floats: a loop without a choice takes several at once.
            Datatype::Fp32 => {
                let floats = bytes.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes));
                floats.map(f64::from).collect()
            }
            _ => bytes.chunks_exact(size).map(|bytes| datatype.decode(bytes)).collect(),
        };
        return Ok(Data::Numbers(numbers));
    }
    let mut texts = Vec::new();
    let mut rest = bytes;
    while let Some((length, behind)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let Some((text, behind)) = behind.split_at_checked(length) else {
            return Err(misfit(format!("a text of {length} bytes that are not there")));
        };
        let text = std::str::from_utf8(text).map_err(|_| misfit("a text that is not UTF-8".into()));
        texts.push(text?.to_owned());
        rest = behind;
    }
    match rest.is_empty() && texts.len() == wanted {
        true => Ok(Data::Texts(texts)),
        false => Err(misfit(format!("{} texts", texts.len()))),
    }
}
