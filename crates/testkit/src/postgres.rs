//! A real PostgreSQL.
//!
//! Invariant: each test has a database of its own on a server that tests may share. Refuses: to be
//! faked; without the program a test panics.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::engine::{self, Account, Engine, database_of};
use crate::{Session, free_port, require};

const USER: &str = "tidegate";
const PASSWORD: &str = "s3cret/word";

/// A running PostgreSQL of its own, with password authentication.
#[derive(Debug)]
pub struct Postgres {
    engine: Engine,
    programs: PathBuf,
    port: u16,
    databases: AtomicU32,
}

impl Postgres {
    /// The one of this process; for tests that do it no harm.
    pub fn shared() -> &'static Postgres {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(Postgres::start)
    }

    /// Starts a server; panics when PostgreSQL is not installed.
    pub fn start() -> Postgres {
        let account = Account::ordinary("postgres");
        let programs = programs();
        let dir = TempDir::new().expect("a directory");
        account.give(dir.path());
        engine::put_certificates(dir.path(), account);
        let password = dir.path().join("password");
        fs::write(&password, PASSWORD).expect("a file");
        account.give(&password);
        let data = dir.path().join("data").display().to_string();
        let mut init = Command::new(programs.join("initdb"));
        init.args(["-D", &data, "-U", USER, "-E", "UTF8", "--no-locale", "-N"]);
        init.args(["--auth=scram-sha-256", "--pwfile"]).arg(&password);
        account.apply(&mut init);
        engine::run(init.current_dir(dir.path()));
        let port = free_port();
        let mut command = vec![programs.join("postgres").display().to_string()];
        command.extend(["-D", &data, "-p", &port.to_string()].map(str::to_owned));
        let file =
            |setting: &str, name: &str| format!("{setting}={}", dir.path().join(name).display());
        let certificate = file("ssl_cert_file", "server.pem");
        let key = file("ssl_key_file", "server.key");
        let sockets = format!("unix_socket_directories={}", dir.path().display());
        // Processes are killed, not the machine: what was written is kept without fsync.
        for setting in [
            "listen_addresses=127.0.0.1",
            "ssl=on",
            &certificate,
            &key,
            &sockets,
            "fsync=off",
            "full_page_writes=off",
        ] {
            command.extend(["-c".to_owned(), setting.to_owned()]);
        }
        // Immediate shutdown: it takes its processes with it and waits for nobody.
        let engine = Engine::start(dir, account, "QUIT", &command, port);
        let server = Postgres { engine, programs, port, databases: AtomicU32::new(0) };
        server.wait_until_ready();
        server
    }

    /// Makes a database of its own and returns its address.
    pub fn database(&self) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let maintenance = self.url("postgres");
        self.query(&maintenance, &format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Runs statements; returns a line for each row, `|` between columns, `NULL` for nothing.
    /// Panics when one fails.
    pub fn query(&self, url: &str, sql: &str) -> String {
        engine::run(self.psql(database_of(url)).args(["-c", sql])).trim_end().to_owned()
    }

    /// A client of a database that stays connected.
    pub fn session(&self, url: &str) -> Session {
        Session::start(self.psql(database_of(url)), '|')
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// File with the certificate of the authority that the server's is signed by.
    pub fn authority(&self) -> PathBuf {
        self.engine.authority()
    }

    /// Its main process.
    pub fn process_id(&self) -> u32 {
        self.engine.process_id()
    }

    /// Kills all its processes with SIGKILL.
    pub fn kill(&self) {
        self.engine.kill();
    }

    /// Starts it after [`Postgres::kill`].
    pub fn start_again(&self) {
        self.engine.run();
        self.wait_until_ready();
    }

    fn url(&self, database: &str) -> String {
        let password = PASSWORD.replace('/', "%2F");
        format!("postgres://{USER}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    fn wait_until_ready(&self) {
        self.engine.wait_for("takes a query", || {
            let output = self.psql("postgres").args(["-c", "SELECT 1"]).output();
            output.is_ok_and(|output| output.status.success())
        });
    }

    fn psql(&self, database: &str) -> Command {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-P", "null=NULL"]);
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", USER, "-d", database]);
        psql.env("PGPASSWORD", PASSWORD).env("PGCLIENTENCODING", "UTF8").env("PGTZ", "UTC");
        psql
    }
}

/// Debian keeps the servers' programs out of the search path, by version.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let dirs = versions.map(|version| version.path().join("bin"));
    let newest = dirs.filter(|dir| dir.join("initdb").exists()).max();
    newest.unwrap_or_else(|| {
        let initdb = require("initdb", crate::Absent::Panic).expect("or it panics");
        initdb.parent().expect("a program is in a directory").to_owned()
    })
}
