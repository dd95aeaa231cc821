//! Parses performance data of Nagios plug-ins (<https://nagios-plugins.org/doc/guidelines.html>).
//!
//! Values are divided into times, in milliseconds, and other numbers, with KB and its like as
//! bytes. A number without a unit is never a time. Thresholds and bounds are passed over.
//! Invariant: times are finite and not negative, numbers are finite. A value that is no number, as
//! `U`, is left out. Reading ends, without an error, where no `=` follows or a quote is not closed.
//! A label without quotes reaches to the next `=`, blanks included.
//!
//! Where the data stands in the output, the plug-in's state, and which times become steps are in
//! `command.rs`.

use super::timing::is_time;

/// What a plug-in has measured, in one unit for each kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Perfdata {
    /// Times, in milliseconds.
    pub(crate) times: Vec<(String, f64)>,
    /// Everything else: bytes for KB and its like, percent, counts.
    pub(crate) numbers: Vec<(String, f64)>,
}

/// Reads `'label'=value[UOM];[warn];[crit];[min];[max]`, as often as it comes. Thresholds and
/// bounds are the plug-in's business; a value `U`, which it could not find out, is left out.
pub(crate) fn read(text: &str) -> Perfdata {
    let mut perfdata = Perfdata::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let Some((label, behind)) = label(rest) else { break };
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let value = behind[..end].split(';').next().unwrap_or_default();
        perfdata.note(label, value);
        rest = behind[end..].trim_start();
    }
    perfdata
}

impl Perfdata {
    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty() && self.numbers.is_empty()
    }

    fn note(&mut self, label: String, value: &str) {
        let is_part = |c: char| c.is_ascii_digit() || "+-.,eE".contains(c);
        let end = value.find(|c| !is_part(c)).unwrap_or(value.len());
        let Ok(number) = value[..end].replace(',', ".").parse::<f64>() else { return };
        let factor = match &value[end..] {
            "s" => return self.time(label, number * 1e3),
            "ms" => return self.time(label, number),
            "us" => return self.time(label, number / 1e3),
            "ns" => return self.time(label, number / 1e6),
            "KB" => 1024.0,
            "MB" => 1024.0 * 1024.0,
            "GB" => 1024.0 * 1024.0 * 1024.0,
            "TB" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
            _ => 1.0,
        };
        if number.is_finite() {
            self.numbers.push((label, number * factor));
        }
    }

    fn time(&mut self, label: String, ms: f64) {
        if is_time(ms) {
            self.times.push((label, ms));
        }
    }
}

/// The label, and what stands behind its `=`. Quotation marks are doubled inside.
fn label(text: &str) -> Option<(String, &str)> {
    let Some(inner) = text.strip_prefix('\'') else {
        let (label, behind) = text.split_once('=')?;
        return (!label.is_empty()).then(|| (label.to_owned(), behind));
    };
    let mut label = String::new();
    let mut letters = inner.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (letter, letters.peek()) {
            ('\'', Some((_, '\''))) => {
                label.push('\'');
                letters.next();
            }
            ('\'', _) => return Some((label, inner[at + 1..].strip_prefix('=')?)),
            _ => label.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests;
