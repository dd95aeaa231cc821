//! Reads Prometheus' text format 0.0.4 as far as a plug-in needs it: families with their samples.
//!
//! A family begins with its `# TYPE`; samples belong to the last one if their names begin with its
//! name. Lines that say nothing, or are malformed, are passed over; times behind values too. Plain
//! data. Any page of that format is read, not only ours.
//! Labels stay as they are written, too (`written`), because `munin.rs` makes names of fields from
//! that text. Also here: statsd's own name of a family, from the help text that
//! `backend/prometheus/series.rs` writes; both change together. Never here: fetching the page and
//! what Munin makes of it (`munin.rs`).

/// A page's families, in its order.
#[derive(Debug, Default)]
pub(super) struct MetricsPage<'p> {
    pub families: Vec<MetricFamily<'p>>,
}

/// A family with a type.
#[derive(Debug)]
pub(super) struct MetricFamily<'p> {
    pub name: &'p str,
    pub kind: &'p str,
    help: &'p str,
    pub samples: Vec<Sample<'p>>,
}

/// A sample with its labels.
#[derive(Debug, PartialEq)]
pub(super) struct Sample<'p> {
    pub name: &'p str,
    /// Its labels as they are written.
    pub written: &'p str,
    pub labels: Vec<(&'p str, String)>,
    pub value: f64,
}

impl<'p> MetricsPage<'p> {
    /// Reads a page.
    pub(super) fn read(text: &'p str) -> Self {
        let mut page = Self::default();
        let mut help = ("", "");
        for line in text.lines() {
            if let Some(text) = line.strip_prefix("# HELP ") {
                help = text.split_once(' ').unwrap_or((text, ""));
            } else if let Some((name, kind)) =
                line.strip_prefix("# TYPE ").and_then(|text| text.split_once(' '))
            {
                let help = if help.0 == name { help.1 } else { "" };
                page.families.push(MetricFamily { name, kind, help, samples: Vec::new() });
            } else if let (Some(family), Some(sample)) = (page.families.last_mut(), sample(line))
                && sample.name.starts_with(family.name)
            {
                family.samples.push(sample);
            }
        }
        page
    }
}

impl MetricFamily<'_> {
    /// What it is called: by statsd, where the page says so.
    pub(super) fn shown(&self) -> &str {
        let named = self.help.strip_suffix("` of statsd.");
        named.and_then(|help| help.split_once('`')).map_or(self.name, |(_, name)| name)
    }
}

impl Sample<'_> {
    /// What its name has behind that of its family.
    pub(super) fn end(&self, family: &str) -> &str {
        self.name.strip_prefix(family).unwrap_or_default()
    }
}

fn sample(line: &str) -> Option<Sample<'_>> {
    if line.starts_with('#') {
        return None;
    }
    let end = line.find(['{', ' '])?;
    let (name, behind) = line.split_at(end);
    let Some(behind) = behind.strip_prefix('{') else {
        let value = behind.split_ascii_whitespace().next()?.parse().ok()?;
        return Some(Sample { name, written: "", labels: Vec::new(), value });
    };
    let (mut labels, mut rest) = (Vec::new(), behind);
    while !rest.starts_with('}') {
        let (label, value) = rest.trim_start_matches(',').split_once("=\"")?;
        let (value, behind) = quoted(value)?;
        labels.push((label, value));
        rest = behind;
    }
    let written = &behind[..behind.len() - rest.len()];
    let value = rest[1..].split_ascii_whitespace().next()?.parse().ok()?;
    Some(Sample { name, written, labels, value })
}

/// A value up to its closing quote, and what stands behind that.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            _ => value.push(letter),
        }
    }
    None
}
