//! Finds the plan of a statsd server in a file: ours, or one of a server that is replaced.
//!
//! Invariant: without `--compat`, a file is ours if its name ends in `.toml`. Every other file is
//! one of statsd's; with `--compat` any file is one of the server named. A missing file is an error
//! of the configuration, also where nobody named it.
//! A file of ours is checked as a whole, so an error of another section is an error here.
//! Never here: the formats, which are in `statsd::config` and `statsd::read_legacy`.

use std::path::Path;

use anyhow::Result;
use chassis::config::Problem;
use statsd::{Flavour, plan::Plan};

use crate::config;
use crate::umask::Umask;
use crate::wrong_config::WrongConfig;

/// The plan of a file of ours.
///
/// # Errors
/// With every problem of the file; when it has no `[statsd]`.
pub(crate) fn of_tidegate_file(file: &Path) -> Result<Plan> {
    Ok(with_umask(file)?.0)
}

fn with_umask(file: &Path) -> Result<(Plan, Umask)> {
    let wrong = |problems| WrongConfig::new(file.to_owned(), problems);
    let plan = config::load(file).map_err(wrong)?;
    match plan.statsd {
        Some(statsd) => Ok((statsd, plan.umask)),
        None => Err(wrong(vec![Problem {
            line: 0,
            key: "statsd".to_owned(),
            message: "statsd wants this section; an empty one has every default".to_owned(),
        }])
        .into()),
    }
}

/// Whether a file is one of a server that is replaced, by its name or by what it begins with.
pub(crate) fn is_legacy(file: &Path) -> bool {
    let has_name = file.extension().is_some_and(|extension| extension == "js");
    has_name || std::fs::read_to_string(file).is_ok_and(|text| statsd::is_legacy(&text))
}

/// The plan of a file: ours, or one of a server that is replaced. The umask is the usual one where
/// the file is none of ours.
///
/// # Errors
/// As [`of_tidegate_file`]; [`WrongConfig`], too, when the file cannot be read.
pub(crate) fn of_file(file: &Path, flavour: Option<Flavour>) -> Result<(Plan, Umask)> {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    if is_toml && flavour.is_none() {
        return with_umask(file);
    }
    let wrong = |problem| WrongConfig::new(file.to_owned(), vec![problem]);
    let text = config::read(file).map_err(wrong)?;
    let plan = statsd::read_legacy(&text, flavour.unwrap_or(Flavour::Statsd));
    let plan = plan.map_err(|error| {
        wrong(Problem { line: error.line, key: String::new(), message: error.reason })
    })?;
    Ok((plan, Umask::default()))
}

/// What lines mean where no file says anything; nothing is kept.
pub(super) fn without_file() -> Plan {
    let config = statsd::config::Config { snapshot: Some("off".to_owned()), ..Default::default() };
    let problems = &mut |key: &str, reason: String| unreachable!("defaults fit: {key}: {reason}");
    statsd::config::plan(&config, Path::new("."), problems)
}
