//! Takes vlogdump's options under its names, and makes a filter of them.
//!
//! `name=value` is what follows `-v` there. Patterns search anywhere, `!` before one negates it,
//! and several options must all hold. A pattern for headers searches all of them as they are shown,
//! one a line: `        req.http.NAME = VALUE`.
//! `only_hits` and `only_misses` go by the label that is shown. A source that does not know its
//! cache has neither.
//! Refuses: names that vlogdump does not have, and patterns that are none. An option that is 0 or
//! empty is as if it were not there.

use exchange::{Filter, FilterError};

use crate::guess::InputFormat;
use crate::query::{pattern_of, quoted};

/// vlogdump's options.
#[derive(Debug, Clone, Default)]
pub struct VlogdumpOptions {
    /// `show_req_headers`
    pub show_request_headers: bool,
    /// `show_resp_headers`
    pub show_response_headers: bool,
    /// What must hold, in the filter language, with the name of its option.
    conditions: Vec<(&'static str, String)>,
}

/// An option that is none of vlogdump's, or has a wrong value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionError(String);

/// Every option, in the order of vlogdump's documentation.
pub const OPTION_NAMES: [&str; 11] = [
    "show_req_headers",
    "show_resp_headers",
    "client_match",
    "req_headers_match",
    "resp_headers_match",
    "req_method",
    "url_match",
    "only_hits",
    "only_misses",
    "only_status",
    "only_slow",
];

impl VlogdumpOptions {
    /// Sets an option written as vlogdump takes it, such as `only_misses=1`.
    ///
    /// # Errors
    /// When it is no option, or its value is wrong.
    pub fn assign(&mut self, text: &str) -> Result<(), OptionError> {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            OptionError(format!("`-v {text}` assigns nothing; write it like -v only_misses=1"))
        })?;
        self.set(name, value)
    }

    /// Sets an option; `0` and the empty value switch it off.
    ///
    /// # Errors
    /// As of [`VlogdumpOptions::assign`].
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        let Some(known) = OPTION_NAMES.into_iter().find(|known| *known == name) else {
            let there = format!("vlogdump has {}", OPTION_NAMES.join(", "));
            let near = exchange::nearest_name(name, &OPTION_NAMES);
            let near = near.map_or(there, |near| format!("did you mean `{near}`?"));
            return Err(OptionError(format!("no option `{name}`; {near}")));
        };
        let is_set = !matches!(value, "" | "0");
        match known {
            "show_req_headers" => self.show_request_headers = is_set,
            "show_resp_headers" => self.show_response_headers = is_set,
            _ => {
                self.conditions.retain(|(name, _)| *name != known);
                if is_set {
                    self.conditions.push((known, condition(known, value)?));
                }
            }
        }
        Ok(())
    }

    /// Returns what must hold; nothing if all is shown.
    ///
    /// # Errors
    /// When all of it together is no filter, such as by its length.
    pub fn filter(&self) -> Result<Option<Filter>, FilterError> {
        let parts = self.conditions.iter().map(|(_, text)| Filter::parse(text));
        parts.reduce(|all, part| Ok(all?.and(part?))).transpose()
    }

    /// Whether an option shows or searches headers of requests.
    pub fn asks_for_headers(&self) -> bool {
        let of_headers = ["req_headers_match", "client_match"];
        self.show_request_headers
            || self.conditions.iter().any(|(name, _)| of_headers.contains(name))
    }

    /// Returns an option that asks for what lines of a format do not say, with what that is.
    pub fn unanswered(&self, format: InputFormat) -> Option<(&'static str, &'static str)> {
        self.conditions.iter().find_map(|(name, _)| match *name {
            "only_hits" | "only_misses" if !format.says_cache() => {
                Some((*name, "what the cache did"))
            }
            "only_slow" if format == InputFormat::Combined => Some((*name, "how long it took")),
            "resp_headers_match" if !format.says_response_headers() => {
                Some((*name, "the headers of answers"))
            }
            _ => None,
        })
    }
}

/// What an option asks, in the filter language.
fn condition(name: &'static str, value: &str) -> Result<String, OptionError> {
    let field = match name {
        "only_hits" => return Ok("var.hit".to_owned()),
        "only_misses" => return Ok("var.miss".to_owned()),
        "only_slow" => return slow(value),
        "client_match" => "var.client",
        "req_headers_match" => "var.request_headers",
        "resp_headers_match" => "var.response_headers",
        "req_method" => "method",
        "url_match" => "var.url",
        _ => "var.status_line",
    };
    let (sign, pattern) = match value.strip_prefix('!') {
        Some(pattern) => ("!~", pattern),
        None => ("~", value),
    };
    // In awk a dot is any character, also between two headers.
    let pattern = format!("(?s){pattern}");
    pattern_of(&pattern).map_err(|reason| OptionError(format!("{name}: {reason}")))?;
    Ok(format!("{field} {sign} {}", quoted(&pattern)))
}

/// Milliseconds until the answer was ready; 1 is a second.
fn slow(value: &str) -> Result<String, OptionError> {
    let wrong = || {
        let of_span = |span: stdx::Span| format!("{}", span.0.as_secs_f64() * 1000.0);
        let number = value.parse().map_or("200".to_owned(), of_span);
        OptionError(format!("only_slow: `{value}` is no number of milliseconds, such as {number}"))
    };
    let threshold: f64 = value.parse().map_err(|_| wrong())?;
    if !threshold.is_finite() || threshold < 0.0 {
        return Err(wrong());
    }
    let threshold = if threshold == 1.0 { 1000.0 } else { threshold };
    Ok(format!("var.ready_us >= {}", threshold * 1000.0))
}

#[cfg(test)]
mod tests;
