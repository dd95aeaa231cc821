//! Writes and reads the file of `--save`: series as columns of JSON, to be reported on again.
//!
//! Constraints: readable by `jq` and pandas; a million calls in a few tens of megabytes.
//!
//! Layout: `{"format": "tidegate-lab/1", "paired": BOOL, "series": [SERIES, …]}`. Of two series the
//! second is compared with the first, call by call when `paired`. A series is
//!
//! | key | value |
//! |---|---|
//! | `name` | text |
//! | `total_ms` | milliseconds of each call, to the nanosecond |
//! | `began_ms` | milliseconds from the origin to the beginning of each call; absent when unknown |
//! | `origin_unix_ms` | milliseconds since the Unix epoch of the origin; absent when unknown |
//! | `phases` | `[{"name", "ms": […]}, …]` |
//! | `attributes` | `[{"name", "names": […], "of": […]}` or `{"name", "numbers": […]}, …]` |
//! | `left_out` | `{"failed": {REASON: COUNT}, "bad": {REASON: COUNT}}` |
//! | `notes` | texts |
//!
//! A missing number of an attribute is `null`. Keys that are not known are passed over. `format`
//! comes first: `is_session_file` looks for it there, and so `import.rs` knows the file.
//! Users keep these files, and `bench/src/rows/lab/probe.rs` reads them on its own. So a key keeps
//! its meaning. A new field of `Series` is lost unless `SeriesOut` writes it and `SeriesIn` reads
//! it, with a default for older files.
//! Invariant: in what was read all columns have one length, and durations are finite and not
//! negative. A file that breaks that, or names another `format`, is refused as a whole.

use std::io;

use serde::ser::{Serialize, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize as SerializeDerive};
use verdicts::{Attribute, AttributeValues, CALL_MS_MAX, LeftOut, PhaseColumn, Series, Signals};

/// The value of `format`; the number changes when an older reader would misread a file.
pub const FORMAT: &str = "tidegate-lab/1";

/// One series, or two to compare.
#[derive(Debug, Clone, Default)]
pub struct SeriesSet {
    /// The series; the second is compared with the first.
    pub series: Vec<Series>,
    /// Whether call i of one was measured beside call i of the other.
    pub is_paired: bool,
    /// Signals of the host beside the first, where they were measured.
    pub signals: Option<Signals>,
}

/// Writes series to `out` as one line of JSON.
///
/// # Errors
/// What `out` refuses.
pub fn write(series: &[&Series], is_paired: bool, out: impl io::Write) -> io::Result<()> {
    let series = series.iter().map(|series| SeriesOut::from(*series)).collect();
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer(&mut out, &FileOut { format: FORMAT, paired: is_paired, series })?;
    io::Write::write_all(&mut out, b"\n")?;
    io::Write::flush(&mut out)
}

/// Returns whether `bytes` begin as a saved file does.
pub fn is_session_file(bytes: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let dense: String = head.split_whitespace().collect();
    dense.starts_with("{\"format\":\"tidegate-lab/")
}

/// Reads a saved file.
///
/// # Errors
/// Why it is none, in words.
pub fn read(bytes: &[u8]) -> Result<SeriesSet, String> {
    let file: FileIn = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if file.format != FORMAT {
        return Err(format!("its format is `{}`; this reads `{FORMAT}`", file.format));
    }
    let series = file.series.into_iter().map(SeriesIn::checked).collect::<Result<_, _>>()?;
    Ok(SeriesSet { series, is_paired: file.paired, signals: None })
}

#[derive(SerializeDerive)]
struct FileOut<'a> {
    format: &'a str,
    paired: bool,
    series: Vec<SeriesOut<'a>>,
}

#[derive(SerializeDerive)]
struct SeriesOut<'a> {
    name: &'a str,
    total_ms: Column<'a>,
    #[serde(skip_serializing_if = "Column::is_empty")]
    began_ms: Column<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_unix_ms: Option<f64>,
    phases: Vec<PhaseOut<'a>>,
    attributes: Vec<AttributeOut<'a>>,
    left_out: LeftOutFile,
    notes: &'a [String],
}

impl<'a> From<&'a Series> for SeriesOut<'a> {
    fn from(series: &'a Series) -> Self {
        let phase = |phase: &'a PhaseColumn| PhaseOut { name: &phase.name, ms: Column(&phase.ms) };
        Self {
            name: &series.name,
            total_ms: Column(&series.total_ms),
            began_ms: Column(&series.began_ms),
            origin_unix_ms: series.origin_unix_ms,
            phases: series.phases.iter().map(phase).collect(),
            attributes: series.attributes.iter().map(AttributeOut::from).collect(),
            left_out: LeftOutFile::from(&series.left_out),
            notes: &series.notes,
        }
    }
}

#[derive(SerializeDerive)]
struct PhaseOut<'a> {
    name: &'a str,
    ms: Column<'a>,
}

#[derive(SerializeDerive)]
struct AttributeOut<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<&'a [String]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'a [u32]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    numbers: Option<Column<'a>>,
}

impl<'a> From<&'a Attribute> for AttributeOut<'a> {
    fn from(attribute: &'a Attribute) -> Self {
        let name = attribute.name.as_str();
        match &attribute.values {
            AttributeValues::Names { names, of } => {
                Self { name, names: Some(names), of: Some(of), numbers: None }
            }
            AttributeValues::Numbers(numbers) => {
                Self { name, names: None, of: None, numbers: Some(Column(numbers)) }
            }
        }
    }
}

/// Numbers with as many digits as matter: six after the point, none where there are none.
struct Column<'a>(&'a [f64]);

impl Column<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Column<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const EXACT: f64 = 9e15;
        let mut sequence = serializer.serialize_seq(Some(self.0.len()))?;
        for value in self.0 {
            let rounded = (value * 1e6).round() / 1e6;
            match rounded {
                _ if rounded.fract() == 0.0 && rounded.abs() < EXACT => {
                    sequence.serialize_element(&(rounded as i64))?;
                }
                _ if value.abs() < EXACT => sequence.serialize_element(&rounded)?,
                _ => sequence.serialize_element(value)?,
            }
        }
        sequence.end()
    }
}

#[derive(SerializeDerive, Deserialize, Default)]
#[serde(default)]
struct LeftOutFile {
    failed: std::collections::BTreeMap<String, u64>,
    bad: std::collections::BTreeMap<String, u64>,
}

impl From<&LeftOut> for LeftOutFile {
    fn from(left_out: &LeftOut) -> Self {
        Self { failed: left_out.failed.clone(), bad: left_out.bad.clone() }
    }
}

#[derive(Deserialize)]
struct FileIn {
    format: String,
    #[serde(default)]
    paired: bool,
    series: Vec<SeriesIn>,
}

#[derive(Deserialize)]
struct SeriesIn {
    #[serde(default)]
    name: String,
    total_ms: Vec<f64>,
    #[serde(default)]
    began_ms: Vec<f64>,
    origin_unix_ms: Option<f64>,
    #[serde(default)]
    phases: Vec<PhaseIn>,
    #[serde(default)]
    attributes: Vec<AttributeIn>,
    #[serde(default)]
    left_out: LeftOutFile,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct PhaseIn {
    name: String,
    ms: Vec<f64>,
}

#[derive(Deserialize)]
struct AttributeIn {
    name: String,
    names: Option<Vec<String>>,
    of: Option<Vec<u32>>,
    numbers: Option<Vec<Option<f64>>>,
}

impl SeriesIn {
    fn checked(self) -> Result<Series, String> {
        let calls = self.total_ms.len();
        check("total_ms", &self.total_ms, calls)?;
        if !self.began_ms.is_empty() && self.began_ms.len() != calls {
            return Err(format!("`began_ms` has {} rows, not {calls}", self.began_ms.len()));
        }
        for phase in &self.phases {
            check(&phase.name, &phase.ms, calls)?;
        }
        let phases =
            self.phases.into_iter().map(|phase| PhaseColumn { name: phase.name, ms: phase.ms });
        let attributes = self.attributes.into_iter().map(|attribute| attribute.checked(calls));
        Ok(Series {
            name: self.name,
            total_ms: self.total_ms,
            began_ms: self.began_ms,
            origin_unix_ms: self.origin_unix_ms,
            phases: phases.collect(),
            attributes: attributes.collect::<Result<_, _>>()?,
            left_out: LeftOut { failed: self.left_out.failed, bad: self.left_out.bad },
            notes: self.notes,
            ..Series::default()
        })
    }
}

impl AttributeIn {
    fn checked(self, calls: usize) -> Result<Attribute, String> {
        let name = self.name;
        let (rows, values) = match (self.names, self.of, self.numbers) {
            (Some(names), Some(of), None) => {
                if let Some(index) = of.iter().find(|index| **index as usize >= names.len()) {
                    return Err(format!("`{name}` has no value {index}"));
                }
                (of.len(), AttributeValues::Names { names, of })
            }
            (None, None, Some(numbers)) => {
                let numbers: Vec<f64> =
                    numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect();
                (numbers.len(), AttributeValues::Numbers(numbers))
            }
            _ => return Err(format!("`{name}` has neither `names` with `of` nor `numbers`")),
        };
        if rows != calls {
            return Err(format!("`{name}` has {rows} rows, not {calls}"));
        }
        Ok(Attribute { name, values })
    }
}

fn check(name: &str, column: &[f64], calls: usize) -> Result<(), String> {
    if column.len() != calls {
        return Err(format!("`{name}` has {} rows, not {calls}", column.len()));
    }
    match column.iter().position(|value| !(0.0..=CALL_MS_MAX).contains(value)) {
        Some(row) => Err(format!("`{name}`, row {}: `{}` is no duration", row + 1, column[row])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
