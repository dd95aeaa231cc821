//! Reads frames from a server, and connects again when it has gone.
//!
//! A frame is read on one connection, statement after statement: the server, its sessions, then
//! what was asked for. What a version lacks, or the role may not see, is named in the frame, with
//! what would help. The rest is read all the same.
//! Invariant: a server that has gone is an error of one frame, and the next one connects anew.
//! Bound: texts of `TEXTS_MAX` statements are kept. Never here: when frames are read, and waiting.

use std::collections::{HashMap, HashSet};

use crate::activity;
use crate::address::PgAddress;
use crate::catalog::{self, CatalogView};
use crate::connection::{PgConnection, PgError};
use crate::frame::{
    BlockedSession, DatabaseTotals, Grid, PgFrame, PgSession, QueryIdentity, ServerFacts,
    SessionClient,
};
use crate::value::SqlScalar;

/// Texts of statements that are kept.
const TEXTS_MAX: usize = 10_000;
/// Bytes of a statement's text that are kept.
const STATEMENT_BYTES: i32 = 1000;

/// What a frame is to have besides the sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameRequest {
    /// Whether to ask who blocks whom.
    pub locks: bool,
    /// Views of catalogs, by name.
    pub views: Vec<String>,
    /// Bytes of a query's text.
    pub text_bytes: i32,
}

/// Reads frames from a server.
pub struct FrameSource {
    address: PgAddress,
    connection: Option<PgConnection>,
    server: ServerRow,
    /// Texts of statements by their query id. At the bound those that the frame does not have are
    /// forgotten.
    texts: HashMap<i64, String>,
    /// Statements that ran on connections that are gone.
    ran_before: i64,
}

/// What is asked once for each connection.
#[derive(Debug, Clone, Default)]
struct ServerRow {
    facts: ServerFacts,
    user: String,
    /// The schema of `pg_stat_statements`.
    schema: Option<String>,
}

impl FrameSource {
    /// A source that is not connected yet.
    pub fn new(address: PgAddress) -> Self {
        let (connection, server) = (None, ServerRow::default());
        Self { address, connection, server, texts: HashMap::new(), ran_before: 0 }
    }

    /// Returns where the server is.
    pub fn address(&self) -> &PgAddress {
        &self.address
    }

    /// Returns the version of the server, once it was connected to.
    pub(crate) fn version(&self) -> i64 {
        self.server.facts.version_number
    }

    /// Returns the role that is connected as.
    pub(crate) fn user(&self) -> &str {
        &self.server.user
    }

    /// Reads a frame, after connecting where there is no connection.
    ///
    /// # Errors
    /// When the server cannot be connected to, has gone, or refuses its activity.
    pub fn frame(&mut self, request: &FrameRequest) -> Result<PgFrame, PgError> {
        let mut frame = self.activity(request)?;
        if request.locks {
            self.within(&mut frame, "locks", |source, frame| source.blocking(frame))?;
        }
        for view in request.views.iter().filter_map(|name| catalog::view(name)) {
            self.within(&mut frame, view.name, |source, frame| source.grid(view, frame))?;
        }
        frame.server.watching_transactions = self.ran_before + self.connected()?.statements;
        Ok(frame)
    }

    /// Runs something on the connection, which is made where there is none.
    ///
    /// # Errors
    /// As what runs; the connection is dropped if it is of no use any more.
    pub(crate) fn run<T>(
        &mut self,
        run: impl FnOnce(&mut PgConnection) -> Result<T, PgError>,
    ) -> Result<T, PgError> {
        let outcome = run(self.connected()?);
        if let Err(PgError::Lost(_)) = outcome {
            self.ran_before += self.connection.take().map_or(0, |connection| connection.statements);
        }
        outcome
    }

    fn connected(&mut self) -> Result<&mut PgConnection, PgError> {
        if self.connection.is_none() {
            let mut connection = PgConnection::open(&self.address)?;
            let rows = connection.once(activity::SERVER)?;
            self.server = server_row(rows.first().ok_or_else(no_row)?);
            self.server.facts.name = self.address.to_string();
            self.connection = Some(connection);
        }
        Ok(self.connection.as_mut().expect("it was just made"))
    }

    fn activity(&mut self, request: &FrameRequest) -> Result<PgFrame, PgError> {
        let (facts, sessions) = self.run(|_| Ok(())).and_then(|()| {
            let version = self.version();
            self.run(|connection| {
                let facts = connection.rows(&activity::server_facts(version), &[])?;
                let sessions =
                    connection.rows(&activity::sessions(version), &[&request.text_bytes])?;
                Ok((facts, sessions))
            })
        })?;
        let mut frame = PgFrame { server: self.server.facts.clone(), ..PgFrame::default() };
        let facts = facts.first().ok_or_else(no_row)?;
        add_facts(&mut frame, facts);
        frame.server.rights = rights([facts[15].whole(), facts[16].whole()], self.user());
        frame.sessions = sessions.iter().map(|row| session(row)).collect();
        let version = self.version();
        if version < activity::FULL_FROM {
            let text = "before PostgreSQL 13 only the activity is shown, unverified";
            frame.missing.push(text.to_owned());
        } else if version > activity::KNOWN_TO {
            let text = "this PostgreSQL is newer than 18; figures that it counts anew may be wrong";
            frame.missing.push(text.to_owned());
        }
        if let Some((hidden, _)) = frame.hidden() {
            let grant = grant("pg_monitor", &self.server.user);
            frame.missing.push(format!("queries of {hidden} sessions are hidden: {grant}"));
        }
        Ok(frame)
    }

    /// Adds a part of a frame; what the server refuses is named in the frame.
    fn within(
        &mut self,
        frame: &mut PgFrame,
        what: &str,
        add: impl FnOnce(&mut Self, &mut PgFrame) -> Result<(), PgError>,
    ) -> Result<(), PgError> {
        match add(self, frame) {
            Err(PgError::Answered { state, message }) => {
                let help = match state.as_str() {
                    "42501" => format!(": {}", grant("pg_monitor", &self.server.user)),
                    "55000" if what == "statements" => {
                        ": set shared_preload_libraries = 'pg_stat_statements' and restart"
                            .to_owned()
                    }
                    _ => String::new(),
                };
                frame.missing.push(format!("{what}: {message} ({state}){help}"));
                Ok(())
            }
            other => other,
        }
    }

    fn blocking(&mut self, frame: &mut PgFrame) -> Result<(), PgError> {
        let waiting: Vec<i32> = frame
            .sessions
            .iter()
            .filter(|session| session.waits_for_lock())
            .map(|session| session.identity.pid)
            .collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let text = activity::blocking(self.version());
        let rows = self.run(|connection| connection.rows(&text, &[&waiting]))?;
        for row in rows {
            let pid = row[0].whole();
            let numbers = row[1].text().unwrap_or_default().split_ascii_whitespace();
            let blocked = BlockedSession {
                blockers: numbers.filter_map(|number| number.parse().ok()).collect(),
                lock: row[2].text().unwrap_or_default().to_owned(),
                start_us: row[3].whole(),
            };
            let session = frame.sessions.iter_mut().find(|it| Some(it.identity.pid.into()) == pid);
            // By now it may have what it wanted.
            if let Some(session) = session.filter(|_| !blocked.blockers.is_empty()) {
                session.blocked = Some(blocked);
            }
        }
        Ok(())
    }

    fn grid(&mut self, view: &CatalogView, frame: &mut PgFrame) -> Result<(), PgError> {
        if self.version() < view.from {
            let missing = format!("{}: needs PostgreSQL {}", view.name, view.from / 10_000);
            frame.missing.push(missing);
            return Ok(());
        }
        let rows_max = view.rows_max();
        let mut text = format!("{} LIMIT {rows_max}", (view.statement)(self.version()));
        if view.needs_extension {
            let Some(schema) = &self.server.schema else {
                let database = &self.server.facts.database;
                frame.missing.push(format!(
                    "{}: CREATE EXTENSION pg_stat_statements in the database {database}",
                    view.name
                ));
                return Ok(());
            };
            text = text.replace("{schema}", schema);
        }
        let (columns, rows) = self.run(|connection| connection.named_rows(&text, &[]))?;
        if rows.len() == rows_max {
            frame.missing.push(format!("{}: only {rows_max} rows are read", view.name));
        }
        let mut grid = Grid { columns, rows };
        if view.needs_extension {
            match self.read_texts(&grid) {
                // Such as one text that is not in the database's encoding.
                Err(PgError::Answered { state, message }) => {
                    let missing = format!("{}: texts are missing: {message} ({state})", view.name);
                    frame.missing.push(missing);
                }
                read => read?,
            }
            self.add_texts(&mut grid);
        }
        frame.grids.insert(view.name.to_owned(), grid);
        Ok(())
    }

    /// Reads the texts of statements that are new.
    fn read_texts(&mut self, grid: &Grid) -> Result<(), PgError> {
        let unknown: Vec<i64> = grid
            .rows
            .iter()
            .filter_map(|row| query_id(grid, row))
            .filter(|id| !self.texts.contains_key(id))
            .collect();
        if !unknown.is_empty() {
            let schema = self.server.schema.clone().unwrap_or_default();
            let text = format!(
                "SELECT DISTINCT ON (queryid) queryid, \
                 substring(textsend(query) FROM 1 FOR {STATEMENT_BYTES}) \
                 FROM {schema}.pg_stat_statements WHERE queryid = ANY($1)"
            );
            let rows = self.run(|connection| connection.rows(&text, &[&unknown]))?;
            if self.texts.len() + rows.len() > TEXTS_MAX {
                let ids: HashSet<i64> =
                    grid.rows.iter().filter_map(|row| query_id(grid, row)).collect();
                self.texts.retain(|id, _| ids.contains(id));
            }
            for row in rows {
                let text = row[1].text().unwrap_or_default();
                self.texts.insert(row[0].whole().unwrap_or(0), text.to_owned());
            }
        }
        Ok(())
    }

    /// Adds the statements' texts, as far as they are known.
    fn add_texts(&self, grid: &mut Grid) {
        let texts: Vec<SqlScalar> = grid
            .rows
            .iter()
            .map(|row| query_id(grid, row).and_then(|id| self.texts.get(&id)))
            .map(|text| text.map_or(SqlScalar::Null, |text| SqlScalar::Text(text.clone())))
            .collect();
        grid.columns.push("query".to_owned());
        grid.rows.iter_mut().zip(texts).for_each(|(row, text)| row.push(text));
    }
}

/// What a statement is known by.
fn query_id(grid: &Grid, row: &[SqlScalar]) -> Option<i64> {
    grid.value(row, "queryid").whole()
}

/// Returns the statement that gives a role what it lacks.
pub(crate) fn grant(role: &str, user: &str) -> String {
    format!("GRANT {role} TO \"{}\"", user.replace('"', "\"\""))
}

fn no_row() -> PgError {
    PgError::Lost("the server sent no row".to_owned())
}

fn text(value: &SqlScalar) -> String {
    value.text().unwrap_or_default().to_owned()
}

fn server_row(row: &[SqlScalar]) -> ServerRow {
    let whole = |at: usize| row[at].whole().unwrap_or(0);
    let version = text(&row[1]);
    let facts = ServerFacts {
        // Distributions put their own name behind it.
        version: version.split_whitespace().next().unwrap_or_default().to_owned(),
        version_number: whole(0),
        started_us: whole(2),
        connections_max: whole(3),
        database: text(&row[4]),
        ..ServerFacts::default()
    };
    let schema = row[6].text().map(str::to_owned);
    ServerRow { facts, user: text(&row[5]), schema }
}

/// Which keys need what, if the role may not signal, or not read all tables. What the server does
/// not know cannot be granted.
fn rights([may_signal, may_read]: [Option<i64>; 2], user: &str) -> String {
    let lacks = [(may_signal, "k K X", "pg_signal_backend"), (may_read, "e", "pg_read_all_data")];
    let lacks = lacks.into_iter().filter(|(may, ..)| *may == Some(0));
    let (keys, roles): (Vec<_>, Vec<_>) = lacks.map(|(_, keys, role)| (keys, role)).unzip();
    match keys.is_empty() {
        true => String::new(),
        false => format!("for {}: {}", keys.join(", "), grant(&roles.join(", "), user)),
    }
}

fn add_facts(frame: &mut PgFrame, row: &[SqlScalar]) {
    let whole = |at: usize| row[at].whole().unwrap_or(0);
    frame.time_us = whole(0);
    frame.server.is_standby = whole(1) != 0;
    frame.server.lag_s = row[2].number();
    frame.server.totals = DatabaseTotals {
        commits: whole(3),
        rollbacks: whole(4),
        blocks_read: whole(5),
        blocks_hit: whole(6),
        rows_returned: whole(7),
        rows_inserted: whole(8),
        rows_updated: whole(9),
        rows_deleted: whole(10),
        temp_bytes: whole(11),
        deadlocks: whole(12),
    };
    frame.server.reserved_xmin_age = row[13].whole();
    frame.server.prepared_us = row[14].whole();
}

fn session(row: &[SqlScalar]) -> PgSession {
    let number = |at: usize| row[at].whole().and_then(|number| i32::try_from(number).ok());
    PgSession {
        identity: QueryIdentity {
            pid: number(0).unwrap_or(0),
            backend_start_us: row[1].whole().unwrap_or(0),
            query_start_us: row[2].whole(),
        },
        client: SessionClient {
            user: text(&row[3]),
            database: text(&row[4]),
            address: text(&row[5]),
            host_name: String::new(),
            application: text(&row[6]),
        },
        transaction_start_us: row[7].whole(),
        state_change_us: row[8].whole(),
        state: text(&row[9]),
        kind: text(&row[10]),
        wait: row[11].text().map(|class| (class.to_owned(), text(&row[12]))),
        xid: row[13].whole(),
        xmin_age: row[14].whole(),
        query_id: row[15].whole(),
        leader: number(16),
        query: text(&row[17]),
        blocked: None,
    }
}
