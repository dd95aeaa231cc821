//! Checks a new generation by a golden input, before it serves.
//!
//! The file is a request of the Open Inference Protocol, with the outputs beside its inputs:
//!
//! ```json
//! {"inputs":[{"name":"input","shape":[1,2],"datatype":"FP64","data":[0.5,3]}],
//!  "outputs":[{"name":"predict","data":[0.731]}]}
//! ```
//!
//! Invariant: each number of a listed output differs at most by the tolerance, relative to golden
//! numbers above 1 in size. Texts and truths are the same. Outputs that the file does not list are
//! not compared.
//! A model of texts has one input and one output, whatever the file calls them. Without a file it
//! must embed one text.
//! Users keep such files (docs/MODELS.md), so the format must stay. Answers are read from the JSON
//! of `oip/reply.rs`. The file is not watched: a change counts for the next generation.
//! Elsewhere: when this is called (`predicting.rs`, `texts/embedding_generation.rs`).

use models::{EmbedOptions, EmbedScratch, Embedder};
use serde_json::Value;

use crate::config::GoldenPlan;
use crate::model_file;
use crate::oip::{self, InferRequest};
use crate::predictor::Predictor;
use crate::tensor::Data;

/// Checks a model that predicts.
///
/// # Errors
/// What differs, or what is wrong with the file.
pub(crate) fn check(
    plan: &GoldenPlan,
    predictor: &Predictor,
    tolerance: f64,
) -> Result<(), String> {
    let (body, outputs) = read(plan)?;
    let mut answer = Vec::new();
    InferRequest::read(&body, None)
        .and_then(|mut request| {
            oip::infer(("golden", predictor), &mut request, usize::MAX, &mut answer)
        })
        .map_err(|refusal| at(plan, &refusal.reason))?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|e| at(plan, &e.to_string()))?;
    let answered = answer["outputs"].as_array().map(Vec::as_slice).unwrap_or_default();
    outputs.iter().try_for_each(|(name, wanted)| {
        let output = answered.iter().find(|output| output["name"] == **name);
        let output =
            output.ok_or_else(|| at(plan, &format!("the model has no output `{name}`")))?;
        let found = Values::of(&output["data"]).unwrap_or_default();
        wanted.compare((name, tolerance), &found).map_err(|reason| at(plan, &reason))
    })
}

/// Checks a model of texts, which at least has to embed one.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_texts(plan: Option<&GoldenPlan>, embedder: &Embedder) -> Result<(), String> {
    let embed = |texts: &[&str]| {
        let mut vectors = vec![0.0; texts.len() * embedder.about().dims];
        let (options, mut scratch) = (EmbedOptions::default(), EmbedScratch::default());
        let done = embedder.embed(texts, options, &mut scratch, &mut vectors);
        done.map(|()| vectors).map_err(|error| error.to_string())
    };
    let Some(plan) = plan else { return embed(&["a text to warm up"]).map(drop) };
    let (body, outputs) = read(plan)?;
    let [input] =
        &InferRequest::read(&body, None).map_err(|reason| at(plan, &reason.reason))?.inputs[..]
    else {
        return Err(at(plan, "`inputs` must be one tensor of texts"));
    };
    let Data::Texts(texts) = &input.data else {
        return Err(at(plan, "`inputs` must be one tensor of texts"));
    };
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = embed(&texts).map_err(|reason| at(plan, &reason))?;
    let found: Vec<f64> = found.into_iter().map(f64::from).collect();
    outputs.iter().try_for_each(|(name, wanted)| {
        let Values::Numbers(wanted) = wanted else {
            return Err(at(plan, &format!("the data of output `{name}` is no array of numbers")));
        };
        compare((name, plan.tolerance), wanted, &found).map_err(|reason| at(plan, &reason))
    })
}

/// The values of an output, one after the other.
#[derive(Debug, Clone, PartialEq)]
enum Values {
    Numbers(Vec<f64>),
    /// Texts and truths.
    Others(Vec<Value>),
}

impl Default for Values {
    fn default() -> Self {
        Self::Numbers(Vec::new())
    }
}

impl Values {
    /// Reads an array, which may be nested; `None` for anything else.
    fn of(data: &Value) -> Option<Self> {
        if let Some(numbers) = flat(data) {
            return Some(Self::Numbers(numbers));
        }
        let mut others = Vec::new();
        flatten(data, &mut others)?;
        Some(Self::Others(others))
    }

    /// Compares an output with this, the golden one.
    ///
    /// # Errors
    /// The first value that differs.
    fn compare(&self, (name, tolerance): (&str, f64), found: &Self) -> Result<(), String> {
        match (self, found) {
            (Self::Numbers(wanted), Self::Numbers(found)) => {
                compare((name, tolerance), wanted, found)
            }
            (Self::Others(wanted), Self::Others(found)) if wanted.len() == found.len() => {
                match wanted.iter().zip(found).position(|(wanted, found)| wanted != found) {
                    None => Ok(()),
                    Some(at) => Err(format!("`{name}`[{at}] is {}, not {}", found[at], wanted[at])),
                }
            }
            (Self::Others(wanted), Self::Others(found)) => {
                Err(format!("`{name}` has {} values, not {}", found.len(), wanted.len()))
            }
            (Self::Numbers(_), Self::Others(_)) => {
                Err(format!("`{name}` has texts, and the golden file numbers"))
            }
            (Self::Others(_), Self::Numbers(_)) => {
                Err(format!("`{name}` has numbers, and the golden file texts"))
            }
        }
    }
}

/// Names and values of outputs.
type Outputs = Vec<(String, Values)>;

/// Reads the golden file: the request, and each output's name and values.
///
/// # Errors
/// What is wrong with the file.
fn read(plan: &GoldenPlan) -> Result<(Vec<u8>, Outputs), String> {
    let bytes =
        model_file::read_golden(&plan.file).map_err(|error| at(plan, &error.to_string()))?;
    let mut golden: Value =
        serde_json::from_slice(&bytes).map_err(|error| at(plan, &error.to_string()))?;
    let outputs = golden.as_object_mut().and_then(|golden| golden.remove("outputs"));
    let outputs = outputs.as_ref().and_then(Value::as_array).filter(|list| !list.is_empty());
    let outputs = outputs.ok_or_else(|| at(plan, "`outputs` is missing or empty"))?;
    let outputs = outputs.iter().map(|output| {
        let name = output["name"].as_str().ok_or("an output has no `name`")?;
        let values = Values::of(&output["data"]);
        let wrong = || format!("the data of output `{name}` is no array of numbers or texts");
        Ok((name.to_owned(), values.ok_or_else(wrong)?))
    });
    let outputs = outputs.collect::<Result<_, String>>().map_err(|reason| at(plan, &reason))?;
    Ok((golden.to_string().into_bytes(), outputs))
}

/// Compares an output with the golden one.
///
/// # Errors
/// The first number that differs too much.
pub(crate) fn compare(
    (name, tolerance): (&str, f64),
    wanted: &[f64],
    found: &[f64],
) -> Result<(), String> {
    if wanted.len() != found.len() {
        return Err(format!("`{name}` has {} values, not {}", found.len(), wanted.len()));
    }
    let differs = |(wanted, found): (&f64, &f64)| {
        let distance = (wanted - found).abs();
        distance.is_nan() || distance > tolerance * wanted.abs().max(1.0)
    };
    match wanted.iter().zip(found).position(differs) {
        None => Ok(()),
        Some(index) => {
            let (wanted, found) = (wanted[index], found[index]);
            Err(format!("`{name}`[{index}] is {found}, not {wanted} ± {tolerance}"))
        }
    }
}

fn flat(value: &Value) -> Option<Vec<f64>> {
    let mut numbers = Vec::new();
    for value in value.as_array()? {
        match value {
            Value::Array(_) => numbers.extend(flat(value)?),
            _ => numbers.push(value.as_f64()?),
        }
    }
    Some(numbers)
}

/// Appends texts and truths of an array, which may be nested.
fn flatten(value: &Value, out: &mut Vec<Value>) -> Option<()> {
    for value in value.as_array()? {
        match value {
            Value::Array(_) => flatten(value, out)?,
            Value::String(_) | Value::Bool(_) => out.push(value.clone()),
            _ => return None,
        }
    }
    Some(())
}

fn at(plan: &GoldenPlan, reason: &str) -> String {
    format!("golden input `{}`: {reason}", plan.file.display())
}

#[cfg(test)]
mod tests;
