//! Runs `tidegate config explain`: says in sentences what a configuration does, or what a key is.
//!
//! What is a file is explained by `file.rs`, anything else by `key.rs`. A word is a file if one of
//! that name is there, if it ends in `.toml`, or if it has a slash.

mod file;
mod key;

use std::path::Path;

use anyhow::Result;

use crate::cli::ConfigExplainArgs;
use crate::config::Plan;
use crate::output;

/// `tidegate config explain`; `load` reads a file.
pub(super) fn run(args: &ConfigExplainArgs, load: fn(&Path) -> Result<Plan>) -> Result<()> {
    let style = output::style();
    let file = match args.what.as_deref() {
        Some(key) if !is_file(key) => return output::print(&key::text(key, &style)?),
        Some(file) => Path::new(file),
        None => &args.config.config,
    };
    output::print(&file::text(file, &load(file)?, &style)?)
}

fn is_file(what: &str) -> bool {
    what.ends_with(".toml") || what.contains('/') || Path::new(what).is_file()
}
