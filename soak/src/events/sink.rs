//! The engine that rows are delivered to: starts and kills its server, and asks it for its rows.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use testkit::{MariaDb, Postgres, Session};

/// The file that SQLite's rows are in.
const DATABASE: &str = "sink.db";

/// Where rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// A file beside the log.
    Sqlite,
    /// A real server, killed too.
    Postgres,
    /// A real server, killed too.
    Mariadb,
}

/// What runs beside the processes that are tested.
#[derive(Debug)]
pub(super) struct Server {
    engine: Running,
    /// Held for reading by whoever asks it, so that it dies under the tested ones alone.
    asked: RwLock<()>,
}

#[derive(Debug)]
enum Running {
    Sqlite,
    Postgres(Postgres),
    Mariadb(MariaDb),
}

impl Server {
    /// Starts what an engine needs.
    pub(super) fn start(engine: Engine) -> Arc<Self> {
        let engine = match engine {
            Engine::Sqlite => Running::Sqlite,
            Engine::Postgres => Running::Postgres(Postgres::start()),
            Engine::Mariadb => Running::Mariadb(MariaDb::start()),
        };
        Arc::new(Self { engine, asked: RwLock::default() })
    }

    /// Whether there is something to kill.
    pub(super) fn can_die(&self) -> bool {
        !matches!(self.engine, Running::Sqlite)
    }

    /// Kills it with SIGKILL, and starts it again after a while.
    pub(super) fn die_for(&self, away: Duration) {
        let _nobody_asks = self.asked.write().unwrap_or_else(PoisonError::into_inner);
        match &self.engine {
            Running::Sqlite => {}
            Running::Postgres(server) => server.kill(),
            Running::Mariadb(server) => server.kill(),
        }
        std::thread::sleep(away);
        match &self.engine {
            Running::Sqlite => {}
            Running::Postgres(server) => server.start_again(),
            Running::Mariadb(server) => server.start_again(),
        }
    }

    fn is_asked(&self) -> RwLockReadGuard<'_, ()> {
        self.asked.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A database of its own for one log.
#[derive(Debug)]
pub(super) struct Sink {
    /// Whose it is.
    pub server: Arc<Server>,
    url: String,
    /// How a server was asked last.
    session: Mutex<Option<Session>>,
}

impl Sink {
    /// Makes it.
    pub(super) fn new(server: &Arc<Server>) -> Self {
        let _lives = server.is_asked();
        let url = match &server.engine {
            Running::Sqlite => format!("sqlite:{DATABASE}"),
            Running::Postgres(server) => server.database(),
            Running::Mariadb(server) => server.database(),
        };
        Self { server: Arc::clone(server), url, session: Mutex::default() }
    }

    /// What stands in the configuration.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Asks about a table; each row is its columns' texts. No rows when there is no such table.
    ///
    /// # Errors
    /// When the engine does not answer.
    pub(super) fn ask(&self, dir: &Path, table: &str, sql: &str) -> Result<Vec<Vec<String>>> {
        let _lives = self.server.is_asked();
        let schema = match &self.server.engine {
            Running::Sqlite => return ask_sqlite(dir, table, sql),
            Running::Postgres(_) => "'public'",
            Running::Mariadb(_) => "DATABASE()",
        };
        let is_there = self.ask_server(&format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = '{table}' AND \
             table_schema = {schema}"
        ))?;
        if is_there != "1" {
            return Ok(Vec::new());
        }
        let rows = self.ask_server(sql)?;
        Ok(rows.lines().map(|row| row.split('|').map(str::to_owned).collect()).collect())
    }

    /// Asks in the session that is there, or in one more when its server was killed since.
    fn ask_server(&self, sql: &str) -> Result<String> {
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = session.as_mut().and_then(|session| session.ask(sql)) {
            return Ok(answer);
        }
        let begun = match &self.server.engine {
            Running::Sqlite => bail!("a file has no sessions"),
            Running::Postgres(server) => server.session(&self.url),
            Running::Mariadb(server) => server.session(&self.url),
        };
        session.insert(begun).ask(sql).with_context(|| format!("asking `{sql}`"))
    }
}

/// Asks a copy: opening the file itself would repair what a kill left for the next start.
fn ask_sqlite(dir: &Path, table: &str, sql: &str) -> Result<Vec<Vec<String>>> {
    let copy = dir.join("copy");
    let _ = fs::remove_dir_all(&copy);
    fs::create_dir(&copy)?;
    for end in ["", "-wal", "-journal"] {
        let name = format!("{DATABASE}{end}");
        match fs::copy(dir.join(&name), copy.join(&name)) {
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
    if !connection.table_exists(None, table)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare(sql).with_context(|| format!("asking `{sql}`"))?;
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
