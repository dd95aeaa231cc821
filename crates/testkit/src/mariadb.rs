//! A real MariaDB.
//!
//! Invariant: each test has a database of its own on a server that tests may share. Refuses: to be
//! faked; without the program a test panics.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use tempfile::TempDir;

use crate::engine::{self, Account, Engine, database_of};
use crate::{Absent, Session, free_port, require};

const USER: &str = "tidegate";
const PASSWORD: &str = "s3cret/word";

/// A running MariaDB of its own, with a password.
#[derive(Debug)]
pub struct MariaDb {
    engine: Engine,
    socket: String,
    port: u16,
    databases: AtomicU32,
}

impl MariaDb {
    /// The one of this process; for tests that do it no harm.
    pub fn shared() -> &'static MariaDb {
        static SHARED: OnceLock<MariaDb> = OnceLock::new();
        SHARED.get_or_init(MariaDb::start)
    }

    /// Starts a server; panics when MariaDB is not installed.
    pub fn start() -> MariaDb {
        let program = require("mariadbd", Absent::Panic).expect("or it panics");
        let account = Account::ordinary("mysql");
        let dir = TempDir::new().expect("a directory");
        account.give(dir.path());
        engine::put_certificates(dir.path(), account);
        let data = format!("--datadir={}", dir.path().join("data").display());
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", &data, "--auth-root-authentication-method=normal"]);
        install.args(["--skip-test-db", "--skip-name-resolve"]);
        account.apply(&mut install);
        engine::run(install.current_dir(dir.path()));
        let socket = dir.path().join("socket").display().to_string();
        let port = free_port();
        let mut command = vec![program.display().to_string(), "--no-defaults".to_owned(), data];
        command.push(format!("--socket={socket}"));
        command.push(format!("--port={port}"));
        command.push(format!("--ssl-cert={}", dir.path().join("server.pem").display()));
        command.push(format!("--ssl-key={}", dir.path().join("server.key").display()));
        command.push(format!("--pid-file={}", dir.path().join("pid").display()));
        // Processes are killed, not the machine: what was written is kept without fsync.
        for option in [
            "bind-address=127.0.0.1",
            "skip-name-resolve",
            "innodb-flush-log-at-trx-commit=2",
            "innodb-flush-method=nosync",
        ] {
            command.push(format!("--{option}"));
        }
        let engine = Engine::start(dir, account, "KILL", &command, port);
        let server = MariaDb { engine, socket, port, databases: AtomicU32::new(0) };
        server.wait_until_ready();
        server.root(&format!(
            "CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL PRIVILEGES ON *.* TO {USER}@'%'"
        ));
        server
    }

    /// Makes a database of its own and returns its address.
    pub fn database(&self) -> String {
        let name = format!("t{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.root(&format!("CREATE DATABASE {name} CHARACTER SET latin1"));
        let password = PASSWORD.replace('/', "%2F");
        format!("mysql://{USER}:{password}@127.0.0.1:{}/{name}", self.port)
    }

    /// Runs statements; returns a line for each row, `|` between columns, `NULL` for nothing.
    /// Panics when one fails.
    pub fn query(&self, url: &str, sql: &str) -> String {
        self.root(&format!("USE {}; {sql}", database_of(url)))
    }

    /// A client of a database that stays connected.
    pub fn session(&self, url: &str) -> Session {
        let mut client = self.client();
        client.args(["--unbuffered", "--skip-reconnect", database_of(url)]);
        Session::start(client, '\t')
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// File with the certificate of the authority that the server's is signed by.
    pub fn authority(&self) -> PathBuf {
        self.engine.authority()
    }

    /// Its process.
    pub fn process_id(&self) -> u32 {
        self.engine.process_id()
    }

    /// Kills it with SIGKILL.
    pub fn kill(&self) {
        self.engine.kill();
    }

    /// Starts it after [`MariaDb::kill`].
    pub fn start_again(&self) {
        self.engine.run();
        self.wait_until_ready();
    }

    fn root(&self, sql: &str) -> String {
        let text = engine::run(self.client().args(["-e", sql]));
        text.trim_end().replace('\t', "|")
    }

    fn wait_until_ready(&self) {
        self.engine.wait_for("takes a query", || {
            let output = self.client().args(["-e", "SELECT 1"]).output();
            output.is_ok_and(|output| output.status.success())
        });
    }

    fn client(&self) -> Command {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root"]);
        client.args(["--default-character-set=utf8mb4", &format!("--socket={}", self.socket)]);
        client
    }
}
