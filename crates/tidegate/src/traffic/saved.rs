//! Keeps queries under names, in `tidegate/queries.toml` of the user's folder of configurations.
//!
//! The file is a table of names and texts. A text is a query of Varnish, or else a filter. No name
//! of a tag is one of a field, so each text is only one of the two.
//! Invariant: what is saved can be read back, and a text that is neither is refused. The file is
//! replaced whole. So comments in it do not outlive a `--save`.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use ::traffic::{Query, QueryOptions};
use anyhow::{Context, Result, anyhow, bail};
use exchange::Filter;
use stdx::plain_file;
use toml::{Table, Value};

use crate::environment;
use crate::exit::Misuse;
use crate::output;

const NAME_BYTES_MAX: usize = 64;
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A text that was saved.
pub(super) enum Saved {
    Query(String),
    Filter(String),
}

/// Saves a query under a name; one of that name is replaced.
///
/// # Errors
/// When it is neither a query nor a filter, or cannot be written.
pub(super) fn save(name: &str, text: &str) -> Result<()> {
    let is_sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(is_sound) {
        let error = anyhow!("`{name}` is no name; take letters, digits, `-`, `_` and `.`");
        return Err(Misuse(error).into());
    }
    read(text).map_err(Misuse)?;
    let file = file()?;
    let mut queries = load()?;
    queries.insert(name.to_owned(), Value::String(text.to_owned()));
    let dir = file.parent().context("find the dir of the queries")?;
    fs::create_dir_all(dir).with_context(|| format!("make `{}`", dir.display()))?;
    output::replace(&file, &toml::to_string(&queries).context("write the queries")?)?;
    output::print_cleaned(&format!("saved `{name}` in {}\n", file.display()))
}

/// Prints all that were saved.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn list() -> Result<()> {
    let queries = load()?;
    if queries.is_empty() {
        return output::print("no query is saved; `--save NAME QUERY` saves one\n");
    }
    let width = queries.keys().map(String::len).max().unwrap_or(0);
    let line = |(name, text): (&String, &Value)| {
        format!("{name:width$}  {}\n", text.as_str().unwrap_or_default().replace('\n', " or "))
    };
    output::print_cleaned(&queries.iter().map(line).collect::<String>())
}

/// The query or filter of a name.
///
/// # Errors
/// When there is none, or it can no more be read.
pub(super) fn named(name: &str) -> Result<Saved> {
    let queries = load()?;
    let Some(text) = queries.get(name).and_then(Value::as_str) else {
        let known: Vec<&str> = queries.keys().map(String::as_str).collect();
        let there = match (exchange::nearest_name(name, &known), known.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "none is saved (`--save NAME QUERY`)".to_owned(),
            (None, known) => format!("there is `{}`", known.join("`, `")),
        };
        return Err(Misuse(anyhow!("no query `{name}`; {there}")).into());
    };
    read(text).with_context(|| format!("the saved query `{name}`")).map_err(|e| Misuse(e).into())
}

/// What a text is.
fn read(text: &str) -> Result<Saved> {
    let query = Query::parse(text, QueryOptions::default());
    match (query, Filter::parse(text)) {
        (Ok(_), _) => Ok(Saved::Query(text.to_owned())),
        (Err(_), Ok(_)) => Ok(Saved::Filter(text.to_owned())),
        (Err(query), Err(filter)) => bail!("neither a query ({query}) nor a filter ({filter})"),
    }
}

fn load() -> Result<Table> {
    let file = file()?;
    let text = match plain_file::read_text(&file, FILE_BYTES_MAX) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Table::new()),
        text => text.with_context(|| format!("read `{}`", file.display()))?,
    };
    text.parse().with_context(|| format!("read `{}`", file.display()))
}

fn file() -> Result<PathBuf> {
    let dir = environment::config_dir();
    let dir = dir.context("neither XDG_CONFIG_HOME nor HOME names a dir for queries")?;
    Ok(dir.join("tidegate").join("queries.toml"))
}
