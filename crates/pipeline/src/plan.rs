//! Checks the sections as written and makes a plan of them: sources, fields, rollups with their
//! tables, and sinks.
//!
//! Invariant: every mistake is reported through `wrong`, with its key, and checking goes on. A
//! measure whose column name is taken is not reported; the first column of that name is kept. A
//! plan is returned in any case; it may be used only when nothing was reported.
//! It chooses the names and types of all columns, so a change here changes tables that exist, and
//! docs/operating/rollups.md. `sinks/src/sqlite/query.rs` finds sketches by their position, and
//! cuts `quantiles_` off. `sinks/src/sql.rs` takes the last key of a table of sketches for the
//! machine's name. `tidegate/src/demo/counts.rs`, `soak` and `bench` read columns by name.
//! Names of sources and sinks become names of quarantine files and consumers; the name of a source
//! is also that of its checkpoint. Names have no dot, because checkpoints of `events replay` have
//! one. A consumer's name must not exceed 64 with `events-` before the sink. A journal is the
//! source [`JOURNAL`] without a section.
//! A default here is also in the doc comment of `config`, and some are in docs/operating.
//! Never here: addresses of sinks (`sinks`), formats (`decode`), `[[field]]` (`fields`), the limits
//! of `[events]` (`tidegate`).

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use exchange::{FieldName, Filter};
use stdx::Span;

use crate::batch::{Column, ColumnRole, Kind, Table};
use crate::config::{FieldConfig, RollupConfig, SinkConfig, SourceConfig};
use crate::decode::{FieldRule, Format, LineFormat};
use crate::fields::{self, resolve};
use crate::rollup::{self, KeyPart, Measure, Rollup, RollupColumns, SketchOf, column_name};
use crate::source::FilePattern;

/// The name of the source that is the process's own journal.
pub const JOURNAL: &str = "journal";

/// The column of sketches' tables that holds the machine's name.
const NODE: &str = "node";

/// How long a rotated file must have been silent, unless said otherwise.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// A source that was checked.
#[derive(Debug, Clone)]
pub struct SourcePlan {
    /// Its name.
    pub name: String,
    /// File patterns; none for the journal.
    pub files: Vec<FilePattern>,
    /// Stops rather than report that a log was emptied or changed.
    pub strict: bool,
    /// Makes files durable before positions in them are committed.
    pub sync: bool,
    /// How long a rotated file must have been silent to be done with.
    pub idle_timeout: Duration,
    /// Nodes whose logs were moved to this one.
    pub moved_from: Vec<String>,
    /// How its lines are read.
    pub format: Format,
}

/// A rollup that was checked, and where it goes.
#[derive(Debug, Clone)]
pub struct RollupPlan {
    /// Sources that it counts; none: all.
    pub sources: Vec<String>,
    /// The name of its sink.
    pub sink: String,
    /// What it counts.
    pub rollup: Arc<Rollup>,
}

impl RollupPlan {
    /// Whether it counts lines of this source.
    pub fn counts(&self, source: &str) -> bool {
        self.sources.is_empty() || self.sources.iter().any(|name| name == source)
    }
}

/// A sink that was checked.
#[derive(Debug, Clone)]
pub struct SinkPlan {
    /// Its name.
    pub name: String,
    /// The engine and where it is.
    pub url: String,
    /// How often rows are delivered.
    pub flush: Duration,
}

/// Everything the record process is to do.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The name of this machine.
    pub node: String,
    /// Where lines come from.
    pub sources: Vec<SourcePlan>,
    /// Fields defined over those of the lines.
    pub fields: Vec<FieldRule>,
    /// What is counted.
    pub rollups: Vec<RollupPlan>,
    /// Where rows go.
    pub sinks: Vec<SinkPlan>,
    /// Where the process says how it is.
    pub status: Option<SocketAddr>,
    /// Memory for the running values of all pipelines, in bytes.
    pub window_bytes_max: usize,
    /// The directory for lines that are no events.
    pub quarantine_dir: PathBuf,
    /// Bytes of one file there.
    pub quarantine_bytes_max: u64,
}

impl Plan {
    /// The fields that lines of a source have beside their own.
    pub fn fields_of(&self, source: &str) -> Arc<[FieldRule]> {
        let is_of = |rule: &&FieldRule| {
            rule.sources.is_empty() || rule.sources.iter().any(|name| name == source)
        };
        self.fields.iter().filter(is_of).cloned().collect()
    }
}

/// The sections as written.
#[derive(Debug, Default)]
pub struct Sections {
    /// `[[source]]`
    pub sources: Vec<SourceConfig>,
    /// `[[field]]`
    pub fields: Vec<FieldConfig>,
    /// `[[rollup]]`
    pub rollups: Vec<RollupConfig>,
    /// `[[sink]]`
    pub sinks: Vec<SinkConfig>,
}

/// Checks the sections. `wrong` gets the key and the reason of every error. `has_journal` says that
/// the process keeps a journal, which then is a source.
pub fn plan(
    sections: &Sections,
    root: &Path,
    has_journal: bool,
    wrong: &mut dyn FnMut(&str, String),
) -> Plan {
    let mut plan = Plan::default();
    if has_journal {
        let name = JOURNAL.to_owned();
        let (files, format) = (Vec::new(), Format::from(LineFormat::Tidegate));
        let (strict, sync, idle_timeout) = (false, false, IDLE_TIMEOUT);
        let moved_from = Vec::new();
        plan.sources.push(SourcePlan {
            name,
            files,
            strict,
            sync,
            idle_timeout,
            moved_from,
            format,
        });
    }
    for (at, config) in sections.sources.iter().enumerate() {
        let key = format!("source[{at}]");
        source(config, root, &key, &mut plan, wrong);
    }
    for (at, config) in sections.fields.iter().enumerate() {
        let sources = plan.sources.iter().map(|source| source.name.as_str()).collect();
        fields::check(config, at, sources, &mut plan.fields, wrong);
    }
    for (at, config) in sections.sinks.iter().enumerate() {
        sink(config, &format!("sink[{at}]"), &mut plan, wrong);
    }
    for (at, config) in sections.rollups.iter().enumerate() {
        let key = format!("rollup[{at}]");
        let is_read = |name: &String| config.source.is_empty() || config.source.contains(name);
        let sources = plan.sources.iter().filter(|source| is_read(&source.name));
        let formats = sources.map(|source| source.format.clone()).collect();
        let mut check = RollupCheck { key, fields: plan.fields.clone(), formats, wrong };
        check.rollup(config, &mut plan);
    }
    if !plan.rollups.is_empty() && plan.sources.is_empty() {
        wrong("rollup", "there is nothing to count: add `[journal]` or a `[[source]]`".into());
    }
    plan
}

fn source(
    config: &SourceConfig,
    root: &Path,
    key: &str,
    plan: &mut Plan,
    wrong: &mut dyn FnMut(&str, String),
) {
    let name = config.name.clone().unwrap_or_default();
    if !is_name(&name) {
        wrong(&format!("{key}.name"), "name the source: letters, digits, `-`, `_`".into());
    } else if plan.sources.iter().any(|source| source.name == name) {
        wrong(&format!("{key}.name"), format!("there is another source `{name}`"));
    }
    if config.files.is_empty() {
        wrong(&format!("{key}.files"), "name files, such as `[\"access.log\"]`".into());
    }
    let format = Format::parse(config).unwrap_or_else(|errors| {
        for (part, reason) in errors {
            wrong(&format!("{key}.{part}"), reason);
        }
        Format::from(LineFormat::Combined)
    });
    let mut files = Vec::with_capacity(config.files.len());
    for (at, file) in config.files.iter().enumerate() {
        match FilePattern::new(&root.join(file)) {
            Ok(pattern) => files.push(pattern),
            Err(reason) => wrong(&format!("{key}.files[{at}]"), format!("`{file}`: {reason}")),
        }
    }
    let idle_timeout = config.idle_timeout.as_deref().map(Span::above_zero).transpose();
    let idle_timeout = idle_timeout.unwrap_or_else(|error| {
        wrong(&format!("{key}.idle_timeout"), error.to_string());
        None
    });
    let idle_timeout = idle_timeout.unwrap_or(IDLE_TIMEOUT);
    let (strict, sync) = (config.strict.unwrap_or(false), config.sync.unwrap_or(false));
    let moved_from = config.moved_from.clone();
    plan.sources.push(SourcePlan { name, files, strict, sync, idle_timeout, moved_from, format });
}

fn sink(config: &SinkConfig, key: &str, plan: &mut Plan, wrong: &mut dyn FnMut(&str, String)) {
    let name = config.name.clone().unwrap_or_default();
    if !is_name(&name) {
        wrong(&format!("{key}.name"), "name the sink: letters, digits, `-`, `_`".into());
    } else if plan.sinks.iter().any(|sink| sink.name == name) {
        wrong(&format!("{key}.name"), format!("there is another sink `{name}`"));
    }
    let Some(url) = config.url.clone() else {
        wrong(&format!("{key}.url"), "say where rows go, such as `sqlite:data/events.db`".into());
        return;
    };
    let flush = Span::above_zero(config.flush.as_deref().unwrap_or("1s"));
    let flush = flush.unwrap_or_else(|reason| {
        wrong(&format!("{key}.flush"), reason.to_string());
        Duration::from_secs(1)
    });
    plan.sinks.push(SinkPlan { name, url, flush });
}

/// Checks one rollup.
struct RollupCheck<'w> {
    key: String,
    fields: Vec<FieldRule>,
    /// Of the sources that it counts.
    formats: Vec<Format>,
    wrong: &'w mut dyn FnMut(&str, String),
}

impl RollupCheck<'_> {
    fn rollup(&mut self, config: &RollupConfig, plan: &mut Plan) {
        let name = config.name.clone().unwrap_or_default();
        if name.is_empty() || column_name(&name) != name {
            self.wrong("name", "name the rollup: letters, digits and underscores".into());
        } else if tables(plan).any(|other| other == name || other == format!("{name}_sketches")) {
            self.wrong("name", format!("there is another rollup with a table `{name}`"));
        }
        for source in &config.source {
            if !plan.sources.iter().any(|known| known.name == *source) {
                self.wrong("source", format!("there is no source `{source}`"));
            }
        }
        let sink = self.sink(config, plan);
        let filter = config.filter.as_deref().and_then(|text| {
            let named = RefCell::new(Vec::new());
            let filter = Filter::parse_with(text, &|name| {
                let field = resolve(name, &plan.fields)?;
                named.borrow_mut().push(field.clone());
                Ok(field)
            });
            for field in named.into_inner() {
                self.expect_in_lines("where", &field);
            }
            filter.map_err(|error| self.wrong("where", error.to_string())).ok()
        });
        let rollup = if config.raw == Some(true) {
            self.raw(config, name, filter)
        } else {
            self.aggregates(config, name, filter)
        };
        plan.rollups.push(RollupPlan {
            sources: config.source.clone(),
            sink,
            rollup: Arc::new(rollup),
        });
    }

    fn sink(&mut self, config: &RollupConfig, plan: &Plan) -> String {
        match (&config.sink, plan.sinks.as_slice()) {
            (Some(name), sinks) if sinks.iter().any(|sink| sink.name == *name) => name.clone(),
            (Some(name), _) => {
                self.wrong("sink", format!("there is no sink `{name}`"));
                name.clone()
            }
            (None, [only]) => only.name.clone(),
            (None, []) => {
                self.wrong("sink", "there is no sink to go to: add a `[[sink]]`".into());
                String::new()
            }
            (None, _) => {
                self.wrong("sink", "name the sink that it goes to".into());
                String::new()
            }
        }
    }

    fn aggregates(
        &mut self,
        config: &RollupConfig,
        name: String,
        filter: Option<Filter>,
    ) -> Rollup {
        if !config.fields.is_empty() {
            self.wrong("fields", "goes with `raw = true`".into());
        }
        let mut columns = RollupColumns::default();
        self.key(config, &mut columns);
        let keys = columns.columns.clone();
        self.measures(config, &mut columns);
        let (sketches, sketch_table) = self.sketches(config, keys, &name);
        let table = Arc::new(Table { name, columns: columns.columns });
        let RollupColumns { key, measures, .. } = columns;
        Rollup { filter, key, measures, table, raw: Vec::new(), sketches, sketch_table }
    }

    fn raw(&mut self, config: &RollupConfig, name: String, filter: Option<Filter>) -> Rollup {
        let RollupConfig { by, sum, min, max, mean, last, unique, quantiles, .. } = config;
        let aggregates = [by, sum, min, max, mean, last, unique, quantiles];
        if config.count.is_some() || aggregates.iter().any(|names| !names.is_empty()) {
            self.wrong("raw", "rows of single events have `fields` and no aggregates".into());
        }
        let place = rollup::PLACE.iter();
        let mut columns: Vec<Column> = place
            .map(|(name, kind)| Column {
                name: (*name).into(),
                kind: *kind,
                role: ColumnRole::Plain,
            })
            .collect();
        let usual = || rollup::RAW.map(str::to_owned).to_vec();
        let names = if config.fields.is_empty() { usual() } else { config.fields.clone() };
        let mut raw = Vec::new();
        for name in names {
            let Some(field) = self.field("fields", &name) else { continue };
            let (name, kind) = (column_name(&name), rollup::kind_of(&field));
            if columns.iter().any(|other| other.name == name) {
                self.wrong("fields", format!("there are two columns `{name}`"));
            }
            columns.push(Column { name, kind, role: ColumnRole::Plain });
            raw.push((field, kind));
        }
        let table = Arc::new(Table { name, columns });
        let (key, measures, sketches) = (Vec::new(), Vec::new(), Vec::new());
        Rollup { filter, key, measures, table, raw, sketches, sketch_table: None }
    }

    fn key(&mut self, config: &RollupConfig, columns: &mut RollupColumns) {
        if config.by.is_empty() {
            self.wrong("by", "name fields, `minute`, or both".into());
        }
        for name in &config.by {
            let column = column_name(name);
            if columns.columns.iter().any(|other| other.name == column) {
                self.wrong("by", format!("there are two columns `{column}`"));
            } else if let Some(us) = rollup::bucket(name) {
                columns.key(column, Kind::Time, KeyPart::Bucket(us));
            } else {
                match resolve(name, &self.fields) {
                    Ok(field) => {
                        self.expect_in_lines("by", &field);
                        let kind = rollup::kind_of(&field);
                        columns.key(column, kind, KeyPart::Field(field, kind));
                    }
                    Err(mut error) => {
                        error.near.splice(0..0, rollup::nearest_bucket(name));
                        self.wrong("by", error.to_string());
                    }
                }
            }
        }
    }

    fn measures(&mut self, config: &RollupConfig, columns: &mut RollupColumns) {
        if config.count.unwrap_or(true) {
            columns.measure("count".into(), Kind::Integer, ColumnRole::Sum, Measure::Count);
        }
        for (field, name, kind) in self.numbers("sum", &config.sum) {
            columns.measure(
                format!("sum_{name}"),
                kind,
                ColumnRole::Sum,
                Measure::Sum(field, kind),
            );
        }
        for (field, name, kind) in self.numbers("min", &config.min) {
            columns.measure(
                format!("min_{name}"),
                kind,
                ColumnRole::Min,
                Measure::Min(field, kind),
            );
        }
        for (field, name, kind) in self.numbers("max", &config.max) {
            columns.measure(
                format!("max_{name}"),
                kind,
                ColumnRole::Max,
                Measure::Max(field, kind),
            );
        }
        for (field, name, kind) in self.numbers("mean", &config.mean) {
            let sum = Measure::Sum(field.clone(), kind);
            let sum = columns.measure(format!("sum_{name}"), kind, ColumnRole::Sum, sum);
            let count = Measure::CountOf(field);
            let count_name = format!("count_{name}");
            let count = columns.measure(count_name, Kind::Integer, ColumnRole::Sum, count);
            let role = ColumnRole::Mean { sum, count };
            columns.measure(format!("mean_{name}"), Kind::Real, role, Measure::Mean);
        }
        for name in &config.last {
            let Some(field) = self.field("last", name) else { continue };
            let (name, kind) = (column_name(name), rollup::kind_of(&field));
            let time = Measure::LastTime(field.clone());
            let time_name = format!("last_{name}_time");
            let time = columns.measure(time_name, Kind::Time, ColumnRole::Max, time);
            let role = ColumnRole::Last { time };
            columns.measure(format!("last_{name}"), kind, role, Measure::Last(field, kind));
        }
        if columns.measures.is_empty() {
            self.wrong("count", "nothing is kept: count, or name fields in `sum`…`last`".into());
        }
    }

    fn sketches(
        &mut self,
        config: &RollupConfig,
        mut columns: Vec<Column>,
        name: &str,
    ) -> (Vec<SketchOf>, Option<Arc<Table>>) {
        let mut sketches = Vec::new();
        columns.push(Column { name: NODE.to_owned(), kind: Kind::Text, role: ColumnRole::Key });
        let unique = config.unique.iter().map(|name| ("unique", name));
        for (key, name) in unique.chain(config.quantiles.iter().map(|name| ("quantiles", name))) {
            let column = format!("{key}_{}", column_name(name));
            let Some(field) = self.field(key, name) else { continue };
            if columns.iter().any(|other| other.name == column) {
                self.wrong(key, format!("there are two columns `{column}`"));
                continue;
            }
            if key == "quantiles" && rollup::is_never_number(&field) {
                self.wrong(key, format!("`{name}` is no number"));
                continue;
            }
            columns.push(Column { name: column, kind: Kind::Blob, role: ColumnRole::Sketch });
            sketches.push(match key {
                "unique" => SketchOf::Unique(field),
                _ => SketchOf::Quantiles(field),
            });
        }
        let table = Table { name: format!("{name}_sketches"), columns };
        let table = (!sketches.is_empty()).then(|| Arc::new(table));
        (sketches, table)
    }

    fn numbers(&mut self, key: &str, names: &[String]) -> Vec<(FieldName, String, Kind)> {
        let fields = names.iter().filter_map(|name| {
            let field = self.field(key, name)?;
            if field == FieldName::Time && matches!(key, "sum" | "mean") {
                self.wrong(key, "`time` cannot be added up".into());
                return None;
            }
            if rollup::is_never_number(&field) {
                self.wrong(key, format!("`{name}` is no number"));
                return None;
            }
            let kind = rollup::number_of(&field);
            Some((field, column_name(name), kind))
        });
        fields.collect()
    }

    fn field(&mut self, key: &str, name: &str) -> Option<FieldName> {
        let resolved = resolve(name, &self.fields);
        let field = resolved.map_err(|error| self.wrong(key, error.to_string())).ok()?;
        self.expect_in_lines(key, &field);
        Some(field)
    }

    /// Refuses a header or a variable that no line of the sources has.
    fn expect_in_lines(&mut self, key: &str, field: &FieldName) {
        let field = self.origin(field);
        let Some(known) = self.lacks(field) else { return };
        let known: Vec<String> = known.iter().map(|field| format!("`{field}`")).collect();
        let known = match known.as_slice() {
            [] => "no header or variable of its own".to_owned(),
            known => known.join(", "),
        };
        let message = format!("no line has `{field}`: its format has {known}");
        self.wrong(key, message);
    }

    /// What a field is read from: itself, unless it is defined over others.
    fn origin<'f>(&'f self, field: &'f FieldName) -> &'f FieldName {
        let FieldName::Defined(defined) = field else { return field };
        let rule = self.fields.iter().find(|rule| *rule.field == *defined);
        rule.map_or(field, |rule| self.origin(&rule.from))
    }

    /// The headers and variables that there are, where no line of the sources has this one.
    fn lacks(&self, field: &FieldName) -> Option<Vec<FieldName>> {
        if !matches!(field, FieldName::Header(_) | FieldName::Variable(_)) {
            return None;
        }
        let known: Option<Vec<&[FieldName]>> = self.formats.iter().map(Format::further).collect();
        let known = known.filter(|known| !known.is_empty())?.concat();
        (!known.contains(field)).then_some(known)
    }

    fn wrong(&mut self, key: &str, message: String) {
        (self.wrong)(&format!("{}.{key}", self.key), message);
    }
}

/// Every table that a rollup so far has.
fn tables(plan: &Plan) -> impl Iterator<Item = &str> {
    let tables = plan.rollups.iter().flat_map(|other| other.rollup.tables());
    tables.map(|table| table.name.as_str())
}

pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

#[cfg(test)]
mod tests;
