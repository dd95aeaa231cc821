//! Writes Prometheus' text format 0.0.4 and OpenMetrics 1.0, and chooses between them by `Accept`.
//!
//! OpenMetrics is chosen only where `Accept` names it and likes it no less than text. Without
//! `Accept` the page is text, which `munin/page.rs` reads. `/statsd/metrics` of the admin listener
//! is always text. NaN is left out; infinities are `+Inf` and `-Inf`.
//! Invariant: values of the label that `sample` adds, and help, are escaped. Names and `labels` are
//! written as they come, and in the caller's order (`names.rs`, `series.rs`). `bound` writes a
//! number alike in both formats and in every version: as a label it tells series apart.

use std::io::Write as _;

use super::names::escaped;

/// How a page is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Prometheus' text format 0.0.4.
    Text,
    /// OpenMetrics 1.0.
    Open,
}

impl Format {
    /// What `Accept` asks for: OpenMetrics where it is liked no less than text.
    pub(crate) fn wanted(accept: &str) -> Self {
        let like = |wanted: &[&str]| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let weight = parts.find_map(|part| part.strip_prefix("q="));
                let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f64>().ok())?;
                wanted.iter().any(|one| name.eq_ignore_ascii_case(one)).then_some(weight)
            });
            ranges.fold(0.0, f64::max)
        };
        let open = like(&["application/openmetrics-text"]);
        let text = like(&["text/plain", "text/*", "*/*"]);
        if open > 0.0 && open >= text { Self::Open } else { Self::Text }
    }

    /// Its media type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::Open => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// A page that is being written.
#[derive(Debug)]
pub(super) struct TextPage {
    /// How it is written.
    pub format: Format,
    text: Vec<u8>,
}

impl TextPage {
    /// An empty page.
    pub(super) fn new(format: Format) -> Self {
        Self { format, text: Vec::new() }
    }

    /// The head of a family: `name` as its samples are called without the ends of their own.
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        let help = if self.format == Format::Open { help.replace('"', "\\\"") } else { help };
        // Writing to a vector cannot fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A counter of the server's own with its samples: `name` ends in `_total`.
    pub(super) fn counter(&mut self, name: &str, help: &str) {
        let family = match self.format {
            Format::Text => name,
            Format::Open => name.strip_suffix("_total").unwrap_or(name),
        };
        self.head(family, "counter", help);
    }

    /// A sample; `more` is a label that only this one has. What is no number is left out.
    pub(super) fn sample(
        &mut self,
        (name, end): (&str, &str),
        labels: &str,
        more: Option<(&str, &str)>,
        value: f64,
    ) {
        if value.is_nan() {
            return;
        }
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(end.as_bytes());
        if !labels.is_empty() || more.is_some() {
            self.text.push(b'{');
            self.text.extend_from_slice(labels.as_bytes());
            if let Some((label, value)) = more {
                let comma = if labels.is_empty() { "" } else { "," };
                // Writing to a vector cannot fail.
                let _ = write!(self.text, "{comma}{label}=\"{}\"", escaped(value));
            }
            self.text.push(b'}');
        }
        self.text.push(b' ');
        self.text.extend_from_slice(number(value).as_bytes());
        self.text.push(b'\n');
    }

    /// The page's bytes.
    pub(super) fn end(mut self) -> Vec<u8> {
        if self.format == Format::Open {
            self.text.extend_from_slice(b"# EOF\n");
        }
        self.text
    }
}

/// A number as labels `le` and `quantile` hold it: with a point, in both formats alike.
pub(super) fn bound(value: f64) -> String {
    let text = number(value);
    if value.is_infinite() || text.contains(['.', 'e']) { text } else { text + ".0" }
}

fn number(value: f64) -> String {
    match value {
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => ryu_js::Buffer::new().format_finite(value).to_owned(),
    }
}
