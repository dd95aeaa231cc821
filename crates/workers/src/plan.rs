//! Holds what a pool is to be: every setting with its unit, and its default in [`Plan::new`].
//!
//! Plain data; checked in `config.rs`. Whoever makes a plan without it vouches for the bounds that
//! the fields name. Directories are absolute; the interpreter may be a bare name, looked for in
//! `PATH`.
//! A new setting needs a field here and mostly a key in `config.rs` and a row in docs/WORKERS.md.
//! What Python must know also goes into `supervise/spawn.rs` and `Pool` of
//! `python/tidegate/workers/pool.py`. Python compares with the names of [`Kind`], [`HttpServer`]
//! and [`Lifespan`]; `config.rs` lists them again for users. The gateway waits by `timeout`, too:
//! the binary's `config.rs` hands it over as `answer_timeout`, and `piece_timeout` under its name.
//! Refuses: to read the environment.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

/// One pool of workers.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Its name: label of metrics, field of log lines; unique in the process.
    pub name: String,
    /// The app, as `module:attribute`.
    pub app: String,
    /// What the preload process calls once and holds, as `module:function`; none: nothing is
    /// preloaded.
    pub preload: Option<String>,
    /// The app's Python: an absolute path, or a name that is looked for in `PATH`.
    pub interpreter: PathBuf,
    /// The directory that modules are imported from, absolute; also the working directory.
    pub app_dir: PathBuf,
    /// How the app is called.
    pub kind: Kind,
    /// How many workers are in service; at least 1.
    pub workers: usize,
    /// Threads that call the app in each worker; at least 1.
    pub threads: usize,
    /// Requests that a worker is lent for at once; at least 1.
    pub concurrency: usize,
    /// Requests that may be tunnels (such as WebSocket) at once; at least 1.
    pub tunnels_max: usize,
    /// Requests that may wait for a free worker; the next one is refused.
    pub queue_max: usize,
    /// Requests after which a worker is replaced, give or take a tenth; none: never.
    pub requests_max: Option<u64>,
    /// Private memory in bytes above which a worker is replaced; none: never.
    pub memory_bytes_max: Option<u64>,
    /// The age at which a worker is replaced; none: never.
    pub age_max: Option<Duration>,
    /// Bytes of memory that must remain available beside a new worker; with less, a worker that
    /// is to be replaced leaves before its successor starts.
    pub memory_reserve_bytes: u64,
    /// How long a preload process may load, an import of the app may take, and a worker may take to
    /// answer the canary. Each has this time for itself.
    pub boot_timeout: Duration,
    /// How long a request may take; a worker is killed when an abandoned request takes longer.
    pub timeout: Duration,
    /// How long may pass between two pieces of an answer before it is broken off.
    pub piece_timeout: Duration,
    /// How long a worker may finish what it does when it is to leave.
    pub drain_timeout: Duration,
    /// Whether workers are forked from one parent and share its memory; otherwise each imports
    /// the app for itself.
    pub share_memory: bool,
    /// Whether a change of the app's files reloads it.
    pub reload: bool,
    /// What a new worker must answer before it is put in service; none: it need only listen.
    pub canary: Option<Canary>,
    /// Who speaks HTTP in the worker.
    pub server: HttpServer,
    /// Whether the app's startup and shutdown are told to it (ASGI only).
    pub lifespan: Lifespan,
    /// The prefix of paths that the app is told of; empty for none.
    pub root_path: String,
    /// How much the Python processes yield to others, on top of this process's own niceness: 0 to
    /// 19.
    pub niceness: u8,
    /// Environment of the Python processes, on top of the process's own; wins over the defaults
    /// (one thread for each numeric library).
    pub environment: Vec<(String, String)>,
    /// Where sockets and the Python side are put: absolute, mode 0700, of this pool alone. Paths
    /// of sockets may have 107 bytes.
    pub dir: PathBuf,
}

/// How an app is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Found out by looking at it.
    #[default]
    Auto,
    /// ASGI 3.
    Asgi,
    /// WSGI, PEP 3333.
    Wsgi,
    /// A plain function.
    Function,
}

/// Who speaks HTTP in a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum HttpServer {
    /// The server that Tidegate brings along.
    #[default]
    #[serde(rename = "tidegate")]
    BuiltIn,
    /// The uvicorn of the app's environment.
    Uvicorn,
}

/// Whether an ASGI app is told of startup and shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lifespan {
    /// When it answers.
    #[default]
    Auto,
    /// An app that does not answer fails.
    On,
    /// Never.
    Off,
}

/// A request that a new worker must answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// Path and query of the `GET`.
    pub path: String,
    /// The status that is expected; none: any.
    pub status: Option<u16>,
}

impl Plan {
    /// A pool called `name` for `app`, imported from `app_dir`, with sockets in `dir`, and
    /// defaults for the rest.
    pub fn new(name: &str, app: &str, app_dir: &Path, dir: &Path) -> Self {
        Self {
            name: name.to_owned(),
            app: app.to_owned(),
            preload: None,
            interpreter: PathBuf::from("python3"),
            app_dir: app_dir.to_owned(),
            kind: Kind::Auto,
            workers: 3,
            threads: 1,
            concurrency: 1,
            tunnels_max: 1,
            queue_max: 1000,
            requests_max: None,
            memory_bytes_max: None,
            age_max: None,
            memory_reserve_bytes: 64_000_000,
            boot_timeout: Duration::from_secs(60),
            timeout: Duration::from_secs(60),
            piece_timeout: Duration::from_secs(60),
            drain_timeout: Duration::from_secs(30),
            share_memory: true,
            reload: true,
            canary: Some(Canary { path: "/".to_owned(), status: None }),
            server: HttpServer::BuiltIn,
            lifespan: Lifespan::Auto,
            root_path: String::new(),
            niceness: 0,
            environment: Vec::new(),
            dir: dir.to_owned(),
        }
    }
}
