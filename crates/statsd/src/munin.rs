//! Fetches a page for Prometheus (`backend::prometheus`), and prints of it what a Munin plug-in
//! prints.
//!
//! A plug-in `tidegate_PREFIX` shows the families called `PREFIX`, or with names that begin with
//! `PREFIX_`. It draws up to three graphs:
//! - rates of counters and of timers;
//! - times: the mean between two visits of Munin, and the quantiles of the last flush;
//! - gauges.
//!
//! Munin derives rates and means from whole numbers, so counts and sums are rounded. Buckets are
//! not drawn. A field is called after its family, with a hash of its labels as the page writes
//! them, whatever else is on the page. Munin keeps history by names of graphs and fields, so these
//! must stay, and so must the hash.
//! `suggested` repeats `SELF_PREFIX` (`backend/prometheus/series.rs`). `plugins/munin/tidegate_`
//! calls this through `tidegate statsd munin`. Bounds of a page: 10 seconds and 256 MiB, beyond
//! which there is an error. Reading it: `munin/page.rs`. Source: Munin's guide, "Protocol for
//! multigraph plugins", "Plugin reference".

mod page;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use page::{MetricsPage, Sample};

/// How long the page may take.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);
/// The largest page that is read.
const PAGE_BYTES_MAX: u64 = 256 << 20;

/// What Munin asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Which graphs and fields there are.
    Config,
    /// Their values.
    Fetch,
    /// Which prefixes there are, to be plug-ins each.
    Suggest,
}

/// Gets a page.
///
/// # Errors
/// The reason, when nobody answers there, or with another status than 200.
pub fn get(url: &str) -> Result<String, String> {
    let config = ureq::Agent::config_builder().timeout_global(Some(PAGE_TIMEOUT)).build();
    let answer = config.new_agent().get(url).call();
    let read = |mut answer: ureq::http::Response<ureq::Body>| {
        answer.body_mut().with_config().limit(PAGE_BYTES_MAX).read_to_string()
    };
    answer.and_then(read).map_err(|error| error.to_string())
}

/// What a plug-in of this name answers; it is called `tidegate_PREFIX`.
pub fn answer(page: &str, plugin: &str, verb: Verb) -> String {
    let page = MetricsPage::read(page);
    let prefix = plugin.split_once('_').map_or("", |(_, prefix)| prefix);
    match verb {
        Verb::Suggest => suggested(&page),
        verb => shown(&page, plugin, prefix, verb == Verb::Config),
    }
}

/// The first words of families; of the server's own all that they have in common.
fn suggested(page: &MetricsPage<'_>) -> String {
    let words = page.families.iter().map(|family| {
        let server_prefix = "tidegate_statsd";
        let word = family.name.split('_').find(|word| !word.is_empty()).unwrap_or_default();
        if family.name.starts_with(server_prefix) { server_prefix } else { word }
    });
    let words: BTreeSet<&str> = words.filter(|word| !word.is_empty()).collect();
    words.into_iter().fold(String::new(), |text, word| text + word + "\n")
}

fn shown(page: &MetricsPage<'_>, plugin: &str, prefix: &str, is_config: bool) -> String {
    let mut graphs = [
        MuninGraph::new("rates", "rates", "per ${graph_period}"),
        MuninGraph::new("times", "times", "as it was sent"),
        MuninGraph::new("gauges", "gauges", "as it was sent"),
    ];
    let [rates, times, gauges] = &mut graphs;
    for family in &page.families {
        let Some(rest) = rest(family.name, prefix) else { continue };
        for sample in &family.samples {
            match (family.kind, sample.end(family.name)) {
                ("counter", _) => rates.rate(rest, family.shown(), sample, ""),
                ("gauge", _) => gauges.gauge(rest, family.shown(), sample),
                (_, "_count") => {
                    rates.rate(rest, family.shown(), sample, "");
                    times.rate(rest, family.shown(), sample, "_count");
                }
                (_, "_sum") => times.mean(rest, family.shown(), sample),
                ("summary", "") => times.gauge(rest, family.shown(), sample),
                _ => {}
            }
        }
    }
    let graphs = graphs.iter().filter(|graph| !graph.values.is_empty());
    graphs.fold(String::new(), |mut text, graph| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "multigraph {}_{}", field(plugin), graph.name);
        if is_config {
            let of = if prefix.is_empty() { "statsd" } else { prefix };
            let _ = writeln!(text, "graph_title {of}: {}", graph.title);
            let _ = writeln!(text, "graph_vlabel {}\ngraph_category statsd", graph.unit);
            text.push_str("graph_args --base 1000\n");
        }
        text + if is_config { &graph.config } else { &graph.values }
    })
}

/// What stands behind the prefix of a plug-in; none when the name does not begin with it.
fn rest<'n>(name: &'n str, prefix: &str) -> Option<&'n str> {
    if prefix.is_empty() || name == prefix {
        return Some(name);
    }
    let rest = name.strip_prefix(prefix)?;
    rest.strip_prefix('_').filter(|rest| !rest.is_empty())
}

/// One graph of a plug-in.
struct MuninGraph {
    name: &'static str,
    title: &'static str,
    unit: &'static str,
    config: String,
    values: String,
}

impl MuninGraph {
    fn new(name: &'static str, title: &'static str, unit: &'static str) -> Self {
        Self { name, title, unit, config: String::new(), values: String::new() }
    }

    /// How fast a sum grows; with an `end` it is only there for a mean.
    fn rate(&mut self, name: &str, shown: &str, sample: &Sample<'_>, end: &str) {
        let field = sample.field(name) + end;
        let _ = writeln!(self.config, "{field}.label {}", label(shown, sample));
        let _ = writeln!(self.config, "{field}.type DERIVE\n{field}.min 0");
        if !end.is_empty() {
            let _ = writeln!(self.config, "{field}.graph no");
        }
        self.whole(&field, sample.value);
    }

    /// What was added between two visits, by how many there were.
    fn mean(&mut self, name: &str, shown: &str, sample: &Sample<'_>) {
        let name = sample.field(name);
        let field = format!("{name}_sum");
        let _ = writeln!(self.config, "{field}.label {} mean", label(shown, sample));
        let _ = writeln!(self.config, "{field}.type DERIVE\n{field}.cdef {field},{name}_count,/");
        self.whole(&field, sample.value);
    }

    fn gauge(&mut self, name: &str, shown: &str, sample: &Sample<'_>) {
        let field = sample.field(name);
        let _ = writeln!(self.config, "{field}.label {}", label(shown, sample));
        let _ = writeln!(self.values, "{field}.value {}", sample.value);
    }

    /// Munin takes whole numbers only for what it derives a rate from.
    fn whole(&mut self, field: &str, value: f64) {
        let _ = match value.is_finite() {
            true => writeln!(self.values, "{field}.value {}", value.round()),
            false => writeln!(self.values, "{field}.value U"),
        };
    }
}

impl Sample<'_> {
    /// A field's name, which changes with nothing but its family and its labels.
    fn field(&self, family: &str) -> String {
        let family = field(family);
        match self.labels.is_empty() {
            // Munin's own word.
            true if family == "root" => "_root".to_owned(),
            true => family,
            false => format!("{family}_{:08x}", fnv(self.written)),
        }
    }
}

fn label(shown: &str, sample: &Sample<'_>) -> String {
    let pairs = sample.labels.iter().map(|(label, value)| format!(" {label}={value}"));
    let text = pairs.fold(shown.to_owned(), |text, pair| text + &pair);
    // What Munin takes for a comment or an escape, or for the end of a line.
    text.replace(|letter: char| letter.is_control() || matches!(letter, '#' | '\\'), "_")
}

fn field(name: &str) -> String {
    let legal = name.chars().map(|l| if l.is_ascii_alphanumeric() { l } else { '_' });
    legal.collect()
}

/// FNV-1a, 32 bits: the same in every version.
fn fnv(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests;
