//! Reads the keys of a source that say how its lines are read: `format`, `escape`, `keys`,
//! `lists`, `wrapper`, `time_format` and `zone`.
//!
//! Invariant: what is returned can be read; a key that does not go with the others is an error.
//! `recount` takes a [`Format`] too, and reads lines of it by code of its own.
//! A new name goes into `named`, or into `presets` where it is made of others. CONTRIBUTING.md
//! lists where else; `presets/tests/names.rs` asks for most of these places.
//! Never here: reading lines (`decode`), and the formats of known programs (`presets`).

use std::collections::BTreeMap;
use std::sync::Arc;

use exchange::{FieldName, nearest_name};

use super::columns::{Directed, LogColumns};
use super::escape::Escape;
use super::lists::ListChoices;
use super::meaning;
use super::presets::{self, TemplatePreset};
use super::template::LogTemplate;
use super::time_format::TimeFormat;
use super::wrapper::Wrapper;
use crate::config::{KeyError, SourceConfig};

/// How the lines of a source are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    /// How a line is cut.
    pub lines: LineFormat,
    /// What each line is wrapped in.
    pub wrapper: Option<Wrapper>,
    /// How the time is written, where it is in none of the usual ways.
    pub time: Option<Arc<TimeFormat>>,
    /// What is taken of lists.
    pub lists: ListChoices,
}

/// How a line is cut into fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineFormat {
    /// nginx's, Apache's and varnishncsa's `combined`.
    Combined,
    /// `common`: `combined` without referer and user agent, which may follow.
    Common,
    /// Labelled tab-separated values.
    Ltsv,
    /// The journal's own JSON lines.
    Tidegate,
    /// JSON lines of others.
    Json(NamedKeys),
    /// `key=value`, with quotes where the value has spaces.
    Logfmt(NamedKeys),
    /// A `log_format` of nginx.
    Template(Arc<LogTemplate>),
    /// Columns in a known order.
    Columns(Arc<LogColumns>),
    /// Columns that directives in the file name (W3C).
    Directed(Directed),
    /// Lines of syslog, with the message as a field.
    Syslog,
}

/// Fields of ours by the keys that hold them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedKeys {
    /// Our names, and the keys. Dots lead into objects.
    pub keys: BTreeMap<String, String>,
    /// No key but these is a field of ours.
    pub is_exact: bool,
    /// The line feed at the end of a text ends the line that a program wrote.
    pub is_of_docker: bool,
}

impl From<LineFormat> for Format {
    fn from(lines: LineFormat) -> Self {
        Self { lines, wrapper: None, time: None, lists: ListChoices::default() }
    }
}

impl Format {
    /// The headers and variables of its lines; none where lines may have any.
    pub(crate) fn further(&self) -> Option<&[FieldName]> {
        match (&self.lines, self.wrapper) {
            (LineFormat::Combined | LineFormat::Common | LineFormat::Tidegate, None) => Some(&[]),
            (LineFormat::Template(template), None) => Some(&template.extra),
            (LineFormat::Columns(columns), None) => Some(&columns.extra),
            _ => None,
        }
    }

    /// Reads the keys of a source.
    ///
    /// # Errors
    /// Each key that is wrong, and what is wrong with it.
    pub fn parse(config: &SourceConfig) -> Result<Self, Vec<KeyError>> {
        let mut errors = Vec::new();
        let name = config.format.as_deref().unwrap_or("combined");
        for field in config.keys.keys().filter(|field| !meaning::is_total(field)) {
            keep(
                field.parse::<FieldName>().map_err(|error| ("keys", error.to_string())),
                &mut errors,
            );
        }
        let preset = presets::TEMPLATES.iter().find(|preset| preset.name == name);
        let lines = keep(lines(config, name, preset), &mut errors);
        // Everything goes with JSON, so the other keys are still checked by themselves.
        let lines = lines.unwrap_or_else(|| LineFormat::Json(NamedKeys::default()));
        if !config.keys.is_empty() && !lines.takes_keys() {
            errors.push(("keys", "go with JSON and `logfmt`".to_owned()));
        }
        let wrapper = keep(wrapper(config, &lines, name), &mut errors);
        let time = time(config, &lines, preset.and_then(|preset| preset.time));
        let time = keep(time, &mut errors);
        let lists = ListChoices::parse(&config.lists).map_err(|reason| ("lists", reason));
        match (wrapper, time, keep(lists, &mut errors)) {
            (Some(wrapper), Some(time), Some(lists)) if errors.is_empty() => {
                Ok(Self { lines, wrapper, time, lists })
            }
            _ => Err(errors),
        }
    }
}

/// The value, or none and one error more.
fn keep<T>(result: Result<T, KeyError>, errors: &mut Vec<KeyError>) -> Option<T> {
    result.map_err(|error| errors.push(error)).ok()
}

/// How the lines of the format `name` are read.
fn lines(
    config: &SourceConfig,
    name: &str,
    preset: Option<&TemplatePreset>,
) -> Result<LineFormat, KeyError> {
    let escape = escape(config, name)?;
    let Some(preset) = preset else { return named(name, escape, &config.keys) };
    let mut lines = named(preset.text, preset.escape, &config.keys)?;
    if let (LineFormat::Template(template), Some(tail)) = (&mut lines, preset.tail) {
        Arc::make_mut(template).allow_tail(tail);
    }
    Ok(lines)
}

impl LineFormat {
    fn takes_keys(&self) -> bool {
        matches!(self, Self::Json(_) | Self::Logfmt(_))
    }
}

/// The format of a name, or of a `log_format`.
fn named(
    name: &str,
    escape: Escape,
    keys: &BTreeMap<String, String>,
) -> Result<LineFormat, KeyError> {
    let known = |preset: &[(&str, &str)]| {
        let mut all: BTreeMap<String, String> = BTreeMap::new();
        all.extend(preset.iter().map(|(field, key)| ((*field).to_owned(), (*key).to_owned())));
        all.extend(keys.clone());
        NamedKeys { keys: all, is_exact: true, is_of_docker: name == "docker" }
    };
    let usual = || NamedKeys { keys: keys.clone(), ..NamedKeys::default() };
    Ok(match name {
        "combined" => LineFormat::Combined,
        "common" => LineFormat::Common,
        "ltsv" => LineFormat::Ltsv,
        "tidegate" => LineFormat::Tidegate,
        "json" => LineFormat::Json(usual()),
        "logfmt" => LineFormat::Logfmt(usual()),
        "caddy" => LineFormat::Json(known(&presets::CADDY)),
        "traefik-json" => LineFormat::Json(known(&presets::TRAEFIK)),
        "docker" => LineFormat::Json(known(&presets::DOCKER)),
        "syslog" => LineFormat::Syslog,
        "s3" => LineFormat::Columns(Arc::new(LogColumns::named(presets::S3))),
        "alb" => LineFormat::Columns(Arc::new(LogColumns::named(presets::ALB))),
        "w3c" => LineFormat::Directed(Directed::Seconds),
        "cloudfront" => LineFormat::Directed(Directed::CloudFront),
        "iis" => LineFormat::Directed(Directed::Milliseconds),
        template if template.contains('$') => LogTemplate::compile(template, escape)
            .map(|template| LineFormat::Template(Arc::new(template)))
            .map_err(|reason| ("format", reason))?,
        other => {
            let meant = nearest_name(other, &presets::NAMES);
            let meant = meant.map_or(String::new(), |near| format!("did you mean `{near}`? "));
            let names = presets::NAMES.join(", ");
            let reason = format!(
                "no format is called `{other}`; {meant}There are {names}, and any `log_format` of \
                 nginx with its $variables"
            );
            return Err(("format", reason));
        }
    })
}

fn wrapper(
    config: &SourceConfig,
    lines: &LineFormat,
    name: &str,
) -> Result<Option<Wrapper>, KeyError> {
    let Some(wrapper) = config.wrapper.as_deref() else {
        return Ok((name == "haproxy").then_some(Wrapper::MaybeSyslog));
    };
    let wrapper = Wrapper::parse(wrapper).map_err(|reason| ("wrapper", reason))?;
    match lines {
        LineFormat::Tidegate | LineFormat::Directed(_) | LineFormat::Syslog => {
            Err(("wrapper", format!("does not go with `{name}`")))
        }
        _ => Ok(Some(wrapper)),
    }
}

/// The way that times are written: the configured one, or that of a preset.
fn time(
    config: &SourceConfig,
    lines: &LineFormat,
    preset: Option<&str>,
) -> Result<Option<Arc<TimeFormat>>, KeyError> {
    let is_fixed = matches!(
        lines,
        LineFormat::Combined
            | LineFormat::Common
            | LineFormat::Tidegate
            | LineFormat::Directed(_)
            | LineFormat::Syslog
    );
    if config.time_format.is_some() && is_fixed {
        return Err(("time_format", "does not go with this format, which says it".to_owned()));
    }
    let preset = match lines {
        LineFormat::Syslog => Some(presets::SYSLOG_TIME),
        _ => preset,
    };
    let Some(text) = config.time_format.as_deref().or(preset) else {
        return match config.zone {
            Some(_) => Err(("zone", "goes with times that have none: `time_format`".to_owned())),
            None => Ok(None),
        };
    };
    TimeFormat::compile(text, config.zone.as_deref()).map(|time| Some(Arc::new(time)))
}

fn escape(config: &SourceConfig, name: &str) -> Result<Escape, KeyError> {
    let escape = match config.escape.as_deref() {
        None | Some("default") => Escape::Log,
        Some("json") => Escape::Json,
        Some("none") => Escape::None,
        Some(other) => {
            return Err(("escape", format!("`{other}` is none of default, json, none")));
        }
    };
    match escape != Escape::Log && !name.contains('$') {
        true => Err(("escape", "goes with a `log_format` of nginx".to_owned())),
        false => Ok(escape),
    }
}
