//! Reads a bound as a user writes it: `p99 > 50ms`, `errors > 1%`, `slower > 5%`.
//!
//! Invariant: a bound that was read can be judged: its limit has the unit of its measure. A
//! refusal names the column in characters, from 1, and the grammar.
//! Times are read by [`stdx::Span`]. What a bound means is in `bounds.rs`. The grammar also stands
//! in docs/lab/fail-if.md and in two helps of the binary (`cli/lab/fail_if.rs`, `cli/lab/load.rs`).

use std::fmt;
use std::str::FromStr;

use stdx::Span;

/// The grammar, as a refusal shows it.
const GRAMMAR: &str = "write MEASURE > LIMIT, such as `p99 > 50ms`, `mean > 10ms`, \
                       `stddev > 20ms`, `max > 1s`, `errors > 1%`, `errors > 0` or `slower > 5%`";

/// A condition under which a command fails.
#[derive(Debug, Clone, PartialEq)]
pub struct FailBound {
    /// As it was written, with single blanks.
    pub(super) text: String,
    pub(super) measure: BoundMeasure,
    /// Whether the limit itself is beyond the bound: `>=`.
    pub(super) is_or_equal: bool,
    pub(super) limit: BoundLimit,
}

/// What is held against a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoundMeasure {
    /// A quantile of the calls that succeeded, between 0 and 1.
    Quantile(f64),
    Mean,
    /// The standard deviation, with n − 1.
    Stddev,
    Max,
    /// Calls that failed.
    Errors,
    /// The second measurement beside the first.
    Slower,
}

/// A limit in the unit of its measure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum BoundLimit {
    Milliseconds(f64),
    /// As a fraction of 1.
    Share(f64),
    Count(u64),
}

/// Why a text is no bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundError {
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl BoundLimit {
    pub(super) fn number(self) -> f64 {
        match self {
            Self::Milliseconds(number) | Self::Share(number) => number,
            Self::Count(number) => number as f64,
        }
    }
}

impl FromStr for FailBound {
    type Err = BoundError;

    fn from_str(text: &str) -> Result<Self, BoundError> {
        let wrong = |at: usize, message: String| BoundError {
            column: text[..at].chars().count() + 1,
            message,
        };
        let at = text.find(['<', '>', '=']).unwrap_or(text.len());
        let (name, rest) = text.split_at(at);
        let start = name.len() - name.trim_start().len();
        let name = name.trim();
        let measure = measure(name).map_err(|message| wrong(start, message))?;
        let sign_end = rest.find(|c| !"<>=".contains(c)).unwrap_or(rest.len());
        let (sign, limit) = rest.split_at(sign_end);
        let is_or_equal = match sign {
            ">" => false,
            ">=" => true,
            "" => return Err(wrong(text.len(), "`>` and a limit are missing".to_owned())),
            other => return Err(wrong(at, format!("`{other}` is neither `>` nor `>=`"))),
        };
        let limit_at = at + sign_end + (limit.len() - limit.trim_start().len());
        let limit = limit.trim();
        let read = self::limit(measure, limit).map_err(|message| wrong(limit_at, message))?;
        let text = format!("{name} {sign} {limit}");
        Ok(Self { text, measure, is_or_equal, limit: read })
    }
}

fn measure(name: &str) -> Result<BoundMeasure, String> {
    let quantile = |digits: &str| {
        let percent: f64 = digits.parse().ok()?;
        let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        (is_plain && percent > 0.0 && percent < 100.0)
            .then_some(BoundMeasure::Quantile((percent * 1e10).round() / 1e12))
    };
    Ok(match name {
        "mean" => BoundMeasure::Mean,
        "stddev" => BoundMeasure::Stddev,
        "max" => BoundMeasure::Max,
        "errors" => BoundMeasure::Errors,
        "slower" => BoundMeasure::Slower,
        "median" => BoundMeasure::Quantile(0.5),
        "" => return Err("a measure is missing".to_owned()),
        _ => {
            let digits = name.strip_prefix('p');
            digits.and_then(quantile).ok_or_else(|| format!("`{name}` is no measure"))?
        }
    })
}

fn limit(measure: BoundMeasure, text: &str) -> Result<BoundLimit, String> {
    let share = || {
        let number: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
        (0.0..=1e6).contains(&number).then_some(BoundLimit::Share(number / 100.0))
    };
    match measure {
        _ if text.is_empty() => Err("a limit is missing".to_owned()),
        BoundMeasure::Errors => {
            let share = share().filter(|limit| limit.number() < 1.0);
            let count = || text.parse().ok().map(BoundLimit::Count);
            share.or_else(count).ok_or_else(|| {
                format!("`{text}` is neither a share below 100%, such as 1%, nor a number of calls")
            })
        }
        BoundMeasure::Slower => share().ok_or_else(|| format!("`{text}` is no share, such as 5%")),
        BoundMeasure::Quantile(_)
        | BoundMeasure::Mean
        | BoundMeasure::Stddev
        | BoundMeasure::Max => {
            let span = text.parse::<Span>().ok().filter(|_| text != "0");
            let span = span.ok_or_else(|| {
                format!("`{text}` is no length of time, such as 50ms, 1500us or 2s")
            })?;
            Ok(BoundLimit::Milliseconds(span.0.as_secs_f64() * 1e3))
        }
    }
}

impl fmt::Display for FailBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for BoundError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}; {GRAMMAR}", self.column, self.message)
    }
}

impl std::error::Error for BoundError {}

#[cfg(test)]
mod tests;
