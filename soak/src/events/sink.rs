//! The engine that is delivered to, and how it is asked what it holds.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// The file that SQLite's rows are in.
const DATABASE: &str = "sink.db";

/// Where rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// A file beside the log.
    Sqlite,
}

/// An engine with a database of its own for one run.
#[derive(Debug)]
pub struct Sink {
    engine: Engine,
}

impl Sink {
    /// Gets ready.
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    /// What stands in the configuration.
    pub fn url(&self) -> String {
        match self.engine {
            Engine::Sqlite => format!("sqlite:{DATABASE}"),
        }
    }

    /// Asks; each row is its columns' texts. No rows when there is nothing yet.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub fn ask(&self, folder: &Path, sql: &str) -> Result<Vec<Vec<String>>> {
        match self.engine {
            Engine::Sqlite => ask_sqlite(folder, sql),
        }
    }
}

/// Asks a copy: opening the file itself would repair what a kill left for the next start.
fn ask_sqlite(folder: &Path, sql: &str) -> Result<Vec<Vec<String>>> {
    let copy = folder.join("copy");
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir(&copy)?;
    for end in ["", "-wal", "-journal"] {
        let name = format!("{DATABASE}{end}");
        match fs::copy(folder.join(&name), copy.join(&name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    if !copy.join(DATABASE).exists() {
        return Ok(Vec::new());
    }
    let connection = Connection::open(copy.join(DATABASE))?;
    let is_whole: String = connection.query_row("PRAGMA quick_check", [], |row| row.get(0))?;
    ensure!(is_whole == "ok", "the database is broken: {is_whole}");
    let mut statement = match connection.prepare(sql) {
        Err(error) if error.to_string().contains("no such table") => return Ok(Vec::new()),
        statement => statement.with_context(|| format!("asking `{sql}`"))?,
    };
    let width = statement.column_count();
    let rows = statement.query_map([], |row| {
        (0..width).map(|at| Ok(text(row.get_ref(at)?))).collect::<rusqlite::Result<Vec<_>>>()
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
    }
}
