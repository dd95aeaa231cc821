//! Reads tensors of a `model.safetensors` file, one by one.
//!
//! Format: 8 bytes with the length of the header; the header, a JSON object of `dtype`, `shape` and
//! `data_offsets` by name; the data.
//!
//! Invariants: a float handed out is finite, and an index is below its limit. The size of a tensor
//! is checked against the length of the file before anything is allocated, and no two share bytes.
//! So reading each once allocates at most eight times the file.
//! A tensor that is missing, or of another shape than wanted, is a problem with its name. One that
//! nobody asks for may be of any format.
//! Names of tensors are the callers'. Also here: `half`, which widens binary16, for crates/serving
//! too. `FILE` is the file that crates/serving watches and makes versions of (`Embedder::weights`).
//! Refuses: shards (`model.safetensors.index.json`), and formats other than F64, F32, F16, BF16,
//! I64, I32 and I8.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use serde::Deserialize;

use super::model_dir::ModelDir;
use crate::error::Problem;

pub(super) const FILE: &str = "model.safetensors";

/// Bytes of a header; a large model's has some hundred thousand.
const HEADER_BYTES_MAX: u64 = 16 << 20;

/// Bytes of a file, as docs/MODELS.md states; models that are read here have some gigabytes.
const BYTES_MAX: u64 = 16 << 30;

/// Bytes read at once.
const PART_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Tensors {
    file: File,
    name: String,
    data_start: u64,
    entries: BTreeMap<String, TensorInfo>,
}

#[derive(Debug, Deserialize)]
struct TensorInfo {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// How a number lies in the file, little-endian.
#[derive(Debug, Clone, Copy)]
enum NumberFormat {
    F64,
    F32,
    F16,
    Bf16,
    I64,
    I32,
    I8,
}

impl Tensors {
    /// Reads the header.
    pub(super) fn open(dir: &ModelDir) -> Result<Self, Problem> {
        let name = dir.name(FILE);
        let problem = |reason: String| Problem::new(&name, reason);
        let (file, length) = dir.open(FILE).map_err(|problem| Problem {
            reason: format!("{}; hint: `model.save_pretrained(FOLDER)` writes it", problem.reason),
            ..problem
        })?;
        if length > BYTES_MAX {
            return Err(problem(format!("is {length} bytes, at most {BYTES_MAX} are read")));
        }
        let mut size = [0; 8];
        let read = file.read_exact_at(&mut size, 0);
        read.map_err(|_| problem(format!("is {length} bytes, too short for a header")))?;
        let size = u64::from_le_bytes(size);
        let room = length.saturating_sub(8);
        if size > HEADER_BYTES_MAX.min(room) {
            let reason = format!("its header is {size} bytes, in a file of {length}");
            return Err(problem(reason));
        }
        let mut header = vec![0; size as usize];
        file.read_exact_at(&mut header, 8).map_err(|error| problem(error.to_string()))?;
        let parsed: Result<BTreeMap<String, serde_json::Value>, _> =
            serde_json::from_slice(&header);
        let mut parsed = parsed.map_err(|error| problem(format!("header: {error}")))?;
        parsed.remove("__metadata__");
        let mut entries = BTreeMap::new();
        for (tensor, value) in parsed {
            let at = || format!("{name}: `{tensor}`");
            let entry: TensorInfo = serde_json::from_value(value)
                .map_err(|error| Problem::new(at(), error.to_string()))?;
            entry.check(room - size).map_err(|reason| Problem::new(at(), reason))?;
            entries.insert(tensor, entry);
        }
        let tensors = Self { file, name, data_start: 8 + size, entries };
        tensors.check_apart()?;
        Ok(tensors)
    }

    /// Whether no two tensors share bytes: if they did, a small file could stand for any number of
    /// large ones. The format forbids it too.
    fn check_apart(&self) -> Result<(), Problem> {
        let mut places: Vec<_> =
            self.entries.iter().map(|(tensor, entry)| (entry.data_offsets, tensor)).collect();
        places.sort_unstable();
        let shared = places.windows(2).find(|pair| pair[0].0.1 > pair[1].0.0);
        match shared {
            Some(pair) => {
                Err(self.problem(pair[1].1, format!("shares bytes with `{}`", pair[0].1)))
            }
            None => Ok(()),
        }
    }

    /// Returns the shape of a tensor, or `None` where there is none.
    pub(super) fn shape(&self, tensor: &str) -> Option<&[u64]> {
        self.entries.get(tensor).map(|entry| entry.shape.as_slice())
    }

    /// Returns what stands before `end` in the shortest name that ends so.
    pub(super) fn prefix(&self, end: &str) -> Option<&str> {
        let prefixes = self.entries.keys().filter_map(|name| name.strip_suffix(end));
        prefixes.min_by_key(|prefix| prefix.len())
    }

    /// Reads a tensor of this shape as floats.
    pub(super) fn floats(&self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>, Problem> {
        let numbers = self.read(tensor, shape, |bytes, format, numbers: &mut Vec<f32>| {
            format.add_floats(bytes, numbers);
        })?;
        match numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(numbers),
            Some(index) => Err(self.problem(tensor, format!("number {index} is not finite"))),
        }
    }

    /// Reads a tensor of whole numbers below `limit`.
    pub(super) fn indices(
        &self,
        tensor: &str,
        count: usize,
        limit: usize,
    ) -> Result<Vec<u32>, Problem> {
        let indices = self.read(tensor, &[count], |bytes, format, numbers: &mut Vec<i64>| {
            format.add_whole(bytes, numbers);
        })?;
        if indices.len() != count {
            return Err(self.problem(tensor, "holds no whole numbers"));
        }
        let index = |number: i64| usize::try_from(number).ok().filter(|index| *index < limit);
        let small = |number| index(number).map(|index| index as u32);
        indices.into_iter().map(small).collect::<Option<_>>().ok_or_else(|| {
            self.problem(tensor, format!("holds a number that is none of 0 to {}", limit - 1))
        })
    }

    pub(super) fn problem(&self, tensor: &str, reason: impl Into<String>) -> Problem {
        Problem::new(format!("{}: `{tensor}`", self.name), reason)
    }

    fn read<T>(
        &self,
        tensor: &str,
        shape: &[usize],
        mut add: impl FnMut(&[u8], NumberFormat, &mut Vec<T>),
    ) -> Result<Vec<T>, Problem> {
        let found = self.entries.get(tensor);
        let entry = found.ok_or_else(|| self.problem(tensor, "is missing"))?;
        if !entry.shape.iter().copied().eq(shape.iter().map(|size| *size as u64)) {
            let reason = format!("is of shape {:?}, must be {shape:?}", entry.shape);
            return Err(self.problem(tensor, reason));
        }
        let format = NumberFormat::named(&entry.dtype)
            .ok_or_else(|| self.problem(tensor, format!("`{}` is not read", entry.dtype)))?;
        let (mut at, end) = entry.data_offsets;
        let mut numbers = Vec::with_capacity((end - at) as usize / format.bytes());
        let mut part = vec![0; PART_BYTES.min((end - at) as usize)];
        while at < end {
            let part = &mut part[..PART_BYTES.min((end - at) as usize)];
            let read = self.file.read_exact_at(part, self.data_start + at);
            read.map_err(|error| self.problem(tensor, error.to_string()))?;
            add(part, format, &mut numbers);
            at += part.len() as u64;
        }
        Ok(numbers)
    }
}

impl TensorInfo {
    /// Whether the tensor lies within so many bytes of data, and is as long as its shape says.
    fn check(&self, data_bytes: u64) -> Result<(), String> {
        let (start, end) = self.data_offsets;
        if start > end || end > data_bytes {
            return Err(format!("lies from {start} to {end} of {data_bytes} bytes of data"));
        }
        let Some(format) = NumberFormat::named(&self.dtype) else { return Ok(()) };
        let product = |bytes: u64, size: &u64| bytes.checked_mul(*size);
        let bytes = self.shape.iter().try_fold(format.bytes() as u64, product);
        match bytes == Some(end - start) {
            true => Ok(()),
            false => {
                Err(format!("{} of shape {:?} in {} bytes", self.dtype, self.shape, end - start))
            }
        }
    }
}

impl NumberFormat {
    fn named(dtype: &str) -> Option<Self> {
        Some(match dtype {
            "F64" => Self::F64,
            "F32" => Self::F32,
            "F16" => Self::F16,
            "BF16" => Self::Bf16,
            "I64" => Self::I64,
            "I32" => Self::I32,
            "I8" => Self::I8,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::I8 => 1,
        }
    }

    fn add_floats(self, bytes: &[u8], floats: &mut Vec<f32>) {
        let (twos, fours, eights) = (bytes.as_chunks().0, bytes.as_chunks().0, bytes.as_chunks().0);
        match self {
            Self::F64 => {
                floats.extend(eights.iter().map(|eight| f64::from_le_bytes(*eight) as f32))
            }
            Self::F32 => floats.extend(fours.iter().map(|four| f32::from_le_bytes(*four))),
            Self::F16 => floats.extend(twos.iter().map(|two| half(u16::from_le_bytes(*two)))),
            Self::Bf16 => floats.extend(
                twos.iter().map(|two| f32::from_bits(u32::from(u16::from_le_bytes(*two)) << 16)),
            ),
            Self::I64 => {
                floats.extend(eights.iter().map(|eight| i64::from_le_bytes(*eight) as f32))
            }
            Self::I32 => floats.extend(fours.iter().map(|four| i32::from_le_bytes(*four) as f32)),
            Self::I8 => floats.extend(bytes.iter().map(|byte| f32::from(*byte as i8))),
        }
    }

    /// Adds nothing where the numbers are not whole by their format.
    fn add_whole(self, bytes: &[u8], numbers: &mut Vec<i64>) {
        let (fours, eights) = (bytes.as_chunks().0, bytes.as_chunks().0);
        match self {
            Self::I64 => numbers.extend(eights.iter().map(|eight| i64::from_le_bytes(*eight))),
            Self::I32 => {
                numbers.extend(fours.iter().map(|four| i64::from(i32::from_le_bytes(*four))));
            }
            _ => {}
        }
    }
}

/// Widens a number of IEEE 754 binary16.
pub fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let (exponent, rest) = (u32::from(bits >> 10 & 0x1f), u32::from(bits & 0x3ff));
    match exponent {
        // Below the smallest normal number: steps of 2^-24.
        0 => f32::from_bits((rest as f32 / 16_777_216.0).to_bits() | sign),
        31 => f32::from_bits(sign | 0x7f80_0000 | rest << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | rest << 13),
    }
}

#[cfg(test)]
mod tests;
