//! Puts values for `{name}` into commands, and makes the values: from a list or from a scan.
//!
//! The syntax is hyperfine's, so that its command lines go on working: in a list, `\,` is a comma
//! and `\\` a backslash.
//! Invariant: a value that itself looks like a parameter is not replaced again. A `{name}` that is
//! not given stays. A scan goes upwards and has at most 100,000 values; more are an error, which
//! repeats that number as text. Another error names `--parameter-step-size` of the binary. The
//! values of a scan are rounded to as many decimals as the texts of its bounds and step have, at
//! most 12.
//! Never here: combinations of several parameters, which `lab/bench/subjects.rs` of the binary
//! makes.

use crate::LabError;

/// Values by name, in the order in which they were given.
pub type ParameterValues = Vec<(String, String)>;

/// Values of one parameter at most.
const VALUES_MAX: usize = 100_000;
/// Digits after the point that are kept in a scan.
const DIGITS_MAX: usize = 12;

/// Returns `text` with every `{name}` replaced by its value.
pub fn substituted(text: &str, parameters: &ParameterValues) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    'text: while let Some(first) = rest.chars().next() {
        for (name, value) in parameters {
            let after = rest.strip_prefix('{').and_then(|rest| rest.strip_prefix(name.as_str()));
            if let Some(after) = after.and_then(|rest| rest.strip_prefix('}')) {
                out += value;
                rest = after;
                continue 'text;
            }
        }
        out.push(first);
        rest = &rest[first.len_utf8()..];
    }
    out
}

/// Returns the values of a comma-separated list; `\,` is a comma and `\\` a backslash.
pub fn list(text: &str) -> Vec<String> {
    let mut values = vec![String::new()];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        let value = values.last_mut().expect("there is always a value");
        match character {
            ',' => values.push(String::new()),
            '\\' => match characters.next() {
                Some(escaped @ (',' | '\\')) => value.push(escaped),
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            },
            other => value.push(other),
        }
    }
    values
}

/// Returns `from`, `from + step`, … up to `to`, with as many decimals as the longest of them has.
///
/// # Errors
/// When they are no numbers, lead nowhere, or give more than 100,000 values.
pub fn scan(from: &str, to: &str, step: Option<&str>) -> Result<Vec<String>, LabError> {
    let wrong =
        |reason: &str| LabError::Input(format!("parameter scan from {from} to {to}: {reason}"));
    let number = |text: &str| {
        text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| wrong("no number"))
    };
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let digits = [Some(from), Some(to), step].into_iter().flatten().map(decimals);
    let digits = digits.max().unwrap_or(0).min(DIGITS_MAX);
    if digits > 0 && step.is_none() {
        return Err(wrong("decimals need --parameter-step-size"));
    }
    let (first, last, by) = (number(from)?, number(to)?, number(step.unwrap_or("1"))?);
    if by <= 0.0 || first > last {
        return Err(wrong("the range is empty or the step leads out of it"));
    }
    // Half a step in a billion forgives what binary fractions lose.
    let count = ((last - first) / by + 5e-10).floor() + 1.0;
    if count > VALUES_MAX as f64 {
        return Err(wrong("more than 100,000 values"));
    }
    Ok((0..count as u64).map(|at| format!("{:.digits$}", first + at as f64 * by)).collect())
}

#[cfg(test)]
mod tests;
