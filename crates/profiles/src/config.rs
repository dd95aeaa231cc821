//! Reads `[profiles]`: `Config` is the section as written, `Plan` the checked one with every
//! default.
//!
//! `plan` reports every problem with its key and goes on. A value that is wrong stays or becomes a
//! stand-in, so a plan may be used only if nothing was reported. A `Plan` also makes the options of
//! the file and of a build. Invariant: relative paths are taken from the given root. Defaults stand
//! here and in the doc comments of `Config`, which the printed reference shows; change both.
//! `BuildOptions` and `FileOptions` have defaults of their own, too, and docs/operating/profiles.md
//! names that of `shrink_max`. The default of `event` is that of `--feedback` as well
//! (`DEFAULT_FEEDBACK` in the binary's `cli.rs`). A new key that is a length of time or a share
//! also goes into the tables of `chassis/src/config/units.rs`. Ids longer than
//! `limits.user_bytes_max` of the gateway are never looked up, whatever `id_bytes_max` says. Never
//! here: whether the sink or the journal exists, which the binary's `config.rs` checks.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use exchange::{FieldName, Filter};
use schemars::JsonSchema;
use serde::Deserialize;
use stdx::Span;

use crate::builder::BuildOptions;
use crate::key::UserKey;
use crate::options::FileOptions;

const EVENT: &str = "path == \"/1/feedback/read\" and status < 400";
const ITEM: &str = "query.item";

/// Longest id that may be configured; it is a column of 100 characters in files that are shared.
pub(crate) const ID_BYTES_LIMIT: usize = 1_000;

/// Which users have a profile, and how profiles are made from what they read.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The profile file, SQLite: `user_profiles(profile_id, data)` or
    /// `user_profiles(user_id, has_profile)`. Whatever replaces it by rename is used within a
    /// second of passing the quick checks.
    pub file: Option<String>,
    /// Time between builds of the file. Without it the file comes from elsewhere or from `tidegate
    /// profiles build`.
    pub every: Option<String>,
    /// Fewest distinct items that make a profile; default 5.
    pub items_min: Option<usize>,
    /// Time in which a read loses half its weight; default `7d`.
    pub half_life: Option<String>,
    /// Age at which a read no longer counts; default `30d`.
    pub window: Option<String>,
    /// Which exchanges are reads; default `path == "/1/feedback/read" and status < 400`.
    pub event: Option<String>,
    /// Field of an exchange that names the item read; default `query.item`.
    pub item: Option<String>,
    /// A query that an engine runs for each build, instead of reading the journal: that of
    /// `database`, or of a sink. It gives a row for each read, with the columns `user` and `item`.
    /// The columns `time` and `category` may be there too. In PostgreSQL write `"user"` in quotes:
    /// without them the word is the role that is logged in.
    pub query: Option<String>,
    /// The database in which `query` runs, written as the `url` of a `[[sink]]`, such as
    /// `postgres://reader:PASSWORD@db.example/app`. Nothing is written there.
    pub database: Option<String>,
    /// The sink whose engine runs `query`: SQLite, PostgreSQL, MariaDB or MySQL. By default it is
    /// the only one there is.
    pub sink: Option<String>,
    /// Items as JSON lines with `id`, for their categories; without it profiles have no affinity.
    pub items: Option<String>,
    /// Field of the items file that names the category; default `category`.
    pub category: Option<String>,
    /// A file with fewer rows is refused; default 0.
    pub rows_min: Option<u64>,
    /// A file that lost a larger share of the rows in use is refused, if these were 100 or more;
    /// default `50%`. A file that was made by hand is protected however few rows it has: no build
    /// replaces it by one that is smaller by more. `tidegate profiles build --force` does so all
    /// the same.
    pub shrink_max: Option<String>,
    /// Longer user ids have no profile; default 100, at most 1000.
    pub id_bytes_max: Option<usize>,
}

/// `[profiles]` checked, with every default filled in.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The profile file.
    pub file: PathBuf,
    /// Time between builds; none when nothing is to be built on a schedule.
    pub every: Option<Duration>,
    /// Fewest distinct items that make a profile.
    pub items_min: usize,
    /// Time in which a read loses half its weight.
    pub half_life: Duration,
    /// Age at which a read no longer counts.
    pub window: Duration,
    /// Which exchanges are reads.
    pub event: Filter,
    /// Field of an exchange that names the item.
    pub item: FieldName,
    /// A query that gives the reads, instead of the journal.
    pub query: Option<String>,
    /// The database that runs it, in place of a sink's.
    pub database: Option<String>,
    /// The name of the sink whose engine runs it, where that was said.
    pub sink: Option<String>,
    /// Items with their categories.
    pub items: Option<PathBuf>,
    /// Field of an item that names its category.
    pub category: String,
    /// A file with fewer rows is refused.
    pub rows_min: u64,
    /// A file that lost a larger share of the rows in use is refused; 0 to 1.
    pub shrink_max: f64,
    /// Longer user ids have no profile.
    pub id_bytes_max: usize,
}

impl Plan {
    /// Returns how the file is to be read by users keyed as `user_key` says.
    pub fn file_options(&self, user_key: UserKey) -> FileOptions {
        FileOptions {
            user_key,
            id_bytes_max: self.id_bytes_max,
            rows_min: self.rows_min,
            shrink_max: self.shrink_max,
            ..FileOptions::default()
        }
    }

    /// Returns how the file is to be built from a journal that records users keyed by `user_key`.
    pub fn build_options(&self, user_key: UserKey) -> BuildOptions {
        BuildOptions {
            items_min: self.items_min,
            half_life: self.half_life,
            window: self.window,
            id_bytes_max: self.id_bytes_max,
            user_key,
            keyed: true,
        }
    }
}

/// Checks `[profiles]`; relative paths are taken from `root`.
///
/// Each problem is handed to `wrong` with its dotted key. The plan may be used only if there was
/// none.
pub fn plan(config: &Config, root: &Path, wrong: &mut dyn FnMut(&str, String)) -> Plan {
    if config.file.as_deref().is_none_or(str::is_empty) {
        wrong("profiles.file", "is missing; name the SQLite file".to_owned());
    }
    let mut wrong = |key: &str, message: String| wrong(&format!("profiles.{key}"), message);
    let positive = |value: usize, key: &str, wrong: &mut dyn FnMut(&str, String)| {
        if value == 0 {
            wrong(key, "is 0; write at least 1".to_owned());
        }
        value
    };
    let items_min = positive(config.items_min.unwrap_or(5), "items_min", &mut wrong);
    let id_bytes_max = positive(config.id_bytes_max.unwrap_or(100), "id_bytes_max", &mut wrong);
    if id_bytes_max > ID_BYTES_LIMIT {
        wrong("id_bytes_max", format!("is {id_bytes_max}; write at most {ID_BYTES_LIMIT}"));
    }
    if config.query.is_some() && (config.event.is_some() || config.item.is_some()) {
        wrong("query", "stands beside `event` or `item`, which are for the journal".to_owned());
    }
    for (key, place) in [("sink", &config.sink), ("database", &config.database)] {
        if config.query.is_none() && place.is_some() {
            wrong(key, "is named, but there is no `query` to run in it".to_owned());
        }
    }
    if config.sink.is_some() && config.database.is_some() {
        wrong("database", "stands beside `sink`; name one of them, where `query` runs".to_owned());
    }
    Plan {
        file: root.join(config.file.as_deref().unwrap_or_default()),
        every: config.every.as_deref().map(|text| span_above_zero("every", text, &mut wrong)),
        items_min,
        half_life: span_above_zero(
            "half_life",
            config.half_life.as_deref().unwrap_or("7d"),
            &mut wrong,
        ),
        window: span_above_zero("window", config.window.as_deref().unwrap_or("30d"), &mut wrong),
        event: event(config.event.as_deref().unwrap_or(EVENT), &mut wrong),
        item: item(config.item.as_deref().unwrap_or(ITEM), &mut wrong),
        query: config.query.clone(),
        database: config.database.clone(),
        sink: config.sink.clone(),
        items: config.items.as_deref().map(|items| root.join(items)),
        category: config.category.clone().unwrap_or_else(|| "category".to_owned()),
        rows_min: config.rows_min.unwrap_or(0),
        shrink_max: share("shrink_max", config.shrink_max.as_deref().unwrap_or("50%"), &mut wrong),
        id_bytes_max,
    }
}

fn span_above_zero(key: &str, text: &str, wrong: &mut dyn FnMut(&str, String)) -> Duration {
    Span::above_zero(text).unwrap_or_else(|error| {
        wrong(key, error.to_string());
        Duration::from_secs(1)
    })
}

fn share(key: &str, text: &str, wrong: &mut dyn FnMut(&str, String)) -> f64 {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent {
        Some(percent) if (0.0..=100.0).contains(&percent) => percent / 100.0,
        _ => {
            wrong(key, format!("`{text}` is no share; write 0% to 100%"));
            0.0
        }
    }
}

fn event(text: &str, wrong: &mut dyn FnMut(&str, String)) -> Filter {
    Filter::parse(text).unwrap_or_else(|error| {
        wrong("event", error.to_string());
        Filter::parse("false").expect("`false` is a filter")
    })
}

fn item(text: &str, wrong: &mut dyn FnMut(&str, String)) -> FieldName {
    FieldName::from_str(text).unwrap_or_else(|error| {
        wrong("item", error.to_string());
        FieldName::QueryValue("item".into())
    })
}

#[cfg(test)]
mod tests;
