//! Defines `[[upstream]]` with `python` as users write it, and checks it into a [`Plan`].
//!
//! Every key is optional in the type, so that `plan` can report all errors of a file at once, each
//! through `wrong`. After an error its plan is not for use. The doc comments are the reference
//! manual; docs/WORKERS.md has a table of keys and defaults. What is not set comes from
//! [`Defaults`], else from `Plan::new`. But `boot_timeout` then has the default of `timeout`. Those
//! of `threads`, `concurrency`, `canary.path` and the choices (their first name) stand here as
//! well; change both. Those of `dir` and `app_dir` are only here.
//! A new key that is a length of time goes into `chassis/src/config/units.rs`, unless its name ends
//! in `timeout`. A new size needs a name that `units.rs` knows.
//! Relative paths are taken from the configuration's directory. `Workers::start` finds out whether
//! interpreter and `app_dir` exist.
//! Refuses: to read the environment, which comes in as [`Defaults`], and to compare pools with each
//! other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use stdx::{ByteSize, Span};

use crate::dir::DIR_BYTES_MAX;
use crate::plan::{Canary, HttpServer, Kind, Lifespan, Plan};

/// Requests after which a worker is replaced if `requests_max = true` gives no number.
const REQUESTS_MAX: u64 = 50;

/// What the system knows as the nicest.
const NICENESS_MAX: u8 = 19;

/// An upstream that is a Python app: imported once, forked into workers that share its memory.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PoolConfig {
    /// Name by which routes refer to it: `upstream:NAME`.
    pub name: Option<String>,
    /// The app, `module:attribute`, such as `main:app` or `main:create_app("production")`: any
    /// ASGI or WSGI app, or a plain function.
    pub python: Option<String>,
    /// What is called once and stays loaded while the app's code changes, such as `models:load`:
    /// the app's own calls of it get what it returned.
    pub preload: Option<String>,
    /// The app's Python, such as `.venv/bin/python`; default `python3`, looked for in `PATH`.
    pub interpreter: Option<PathBuf>,
    /// Directory from which modules are imported; default: the configuration's.
    pub app_dir: Option<PathBuf>,
    /// `asgi`, `wsgi` or `function`; default `auto`: found out by looking at the app.
    pub kind: Option<String>,
    /// Workers in service; default: the environment's `WEB_CONCURRENCY` or `MAX_WORKERS`, else 3.
    pub workers: Option<usize>,
    /// Threads in each worker that call a WSGI app or a function; default 1, which is best for code
    /// that computes. Code that waits for databases or other services gains from more.
    pub threads: Option<usize>,
    /// Requests that a worker gets at once; default: as many as `threads`.
    pub concurrency: Option<usize>,
    /// Tunnels (such as WebSocket) that the workers carry at once; further ones are answered 503.
    /// Default: half of `workers` × `concurrency`, at least 1. Each takes the place of a request.
    pub tunnels_max: Option<usize>,
    /// Requests that may wait for a worker; the next one is answered 503; default 1000. With 0 none
    /// waits.
    pub queue_max: Option<usize>,
    /// Requests, give or take a tenth, after which a worker is replaced; `true` means 50. Default:
    /// never.
    pub requests_max: Option<RequestsMax>,
    /// Memory that a worker has for itself, such as `500MB`, above which it is replaced; default:
    /// any.
    pub memory_bytes_max: Option<String>,
    /// Age at which a worker is replaced, such as `6h`; default: any.
    pub age_max: Option<String>,
    /// Time to load, to import and to start, each; default: the environment's `TIMEOUT` in
    /// seconds, else `60s`.
    pub boot_timeout: Option<String>,
    /// Time for an answer to begin; a worker that takes longer is killed, and the client gets 504.
    /// Default: the environment's `TIMEOUT` in seconds, else `60s`.
    pub timeout: Option<String>,
    /// Time between two pieces of an answer that has begun; then the answer is broken off.
    /// Default `60s`. A client that reads slowly is not the worker's delay.
    pub piece_timeout: Option<String>,
    /// Time that a worker gets to finish what it does when it is to leave; default: the
    /// environment's `GRACEFUL_TIMEOUT` in seconds, else `30s`.
    pub drain_timeout: Option<String>,
    /// `on` (default): workers are forked and share memory; `off`: each imports the app for itself,
    /// for apps that start threads when they are imported.
    pub share_memory: Option<String>,
    /// `on` (default): a change of the app's files reloads it; `off`: only
    /// `tidegate workers reload`.
    pub reload: Option<String>,
    /// What a new worker must answer before it gets requests; default `{ path = "/" }`, with any
    /// status.
    pub canary: Option<CanaryConfig>,
    /// Which HTTP server runs in a worker: `tidegate` (default) is Tidegate's, `uvicorn` is the one
    /// in the app's environment.
    pub server: Option<String>,
    /// Whether an ASGI app is told that it starts and ends: `on`, `off`, default `auto`.
    pub lifespan: Option<String>,
    /// The part of the path that the app stands behind, such as `/api`: ASGI apps get it as
    /// `root_path`, WSGI apps as `SCRIPT_NAME`. Routes pass paths on whole. Default: none.
    pub root_path: Option<String>,
    /// How much the pool's processes yield to others on the same cores, from 0 (default) to 19; for
    /// apps that compute beside a cache. It is added to Tidegate's own niceness, while the app is
    /// loaded and while it answers.
    pub niceness: Option<u8>,
    /// Variables of the environment for the app, such as `{ OMP_NUM_THREADS = "2" }`; numeric
    /// libraries have one thread otherwise.
    pub environment: BTreeMap<String, String>,
    /// Directory for sockets; default `data/workers/NAME`.
    pub dir: Option<PathBuf>,
}

/// A number of requests, or whether there is to be one.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RequestsMax {
    /// So many.
    Number(u64),
    /// The usual number, or none.
    Usual(bool),
}

/// A request that a new worker must answer.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CanaryConfig {
    /// Path and query, asked by GET; default `/`. `off` asks nothing.
    pub path: Option<String>,
    /// The status that is good; default: any.
    pub status: Option<u16>,
}

/// What the environment says where the file says nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Defaults {
    /// Workers of each pool.
    pub workers: Option<usize>,
    /// Time to boot, and for a request.
    pub timeout: Option<Duration>,
    /// Time for a leaving worker to finish.
    pub drain_timeout: Option<Duration>,
}

/// Checks an `[[upstream]]` with `python`; relative paths are taken from `root`, which is absolute.
///
/// Each problem is handed to `wrong` with its key; the plan is for use only if there was none.
pub fn plan(
    config: &PoolConfig,
    root: &Path,
    defaults: Defaults,
    wrong: &mut dyn FnMut(&str, String),
) -> Plan {
    let mut check = PoolCheck { wrong };
    let name = check.name(config.name.as_deref());
    let app = check.attribute("python", config.python.as_deref().unwrap_or_default());
    let app_dir = config.app_dir.as_ref().map_or_else(|| root.to_owned(), |dir| root.join(dir));
    let dir = check.dir(config, root, &name);
    let usual = Plan::new(&name, &app, &app_dir, &dir);
    let timeout = defaults.timeout.unwrap_or(usual.timeout);
    let threads = check.at_least_one("threads", config.threads.unwrap_or(1));
    let interpreter = check.interpreter(config, root, usual.interpreter);
    let workers = config.workers.or(defaults.workers).unwrap_or(usual.workers);
    let concurrency = config.concurrency.unwrap_or(threads);
    let piece_timeout = config.piece_timeout.as_deref();
    let drain = defaults.drain_timeout.unwrap_or(usual.drain_timeout);
    Plan {
        preload: config.preload.as_deref().map(|text| check.attribute("preload", text)),
        interpreter,
        kind: check.choice(
            "kind",
            config.kind.as_deref(),
            &[
                ("auto", Kind::Auto),
                ("asgi", Kind::Asgi),
                ("wsgi", Kind::Wsgi),
                ("function", Kind::Function),
            ],
        ),
        workers: check.at_least_one("workers", workers),
        threads,
        concurrency: check.at_least_one("concurrency", concurrency),
        tunnels_max: check.tunnels(config.tunnels_max, workers, concurrency),
        queue_max: config.queue_max.unwrap_or(usual.queue_max),
        requests_max: check.requests(config.requests_max),
        memory_bytes_max: config
            .memory_bytes_max
            .as_deref()
            .and_then(|text| check.size_above_zero("memory_bytes_max", text)),
        age_max: config.age_max.as_deref().map(|text| check.span_above_zero("age_max", text)),
        boot_timeout: check.span_or("boot_timeout", config.boot_timeout.as_deref(), timeout),
        timeout: check.span_or("timeout", config.timeout.as_deref(), timeout),
        piece_timeout: check.span_or("piece_timeout", piece_timeout, usual.piece_timeout),
        drain_timeout: check.span_or("drain_timeout", config.drain_timeout.as_deref(), drain),
        share_memory: check.choice("share_memory", config.share_memory.as_deref(), &ON_OFF),
        reload: check.choice("reload", config.reload.as_deref(), &ON_OFF),
        canary: check.canary(config.canary.as_ref(), usual.canary),
        server: check.choice(
            "server",
            config.server.as_deref(),
            &[("tidegate", HttpServer::BuiltIn), ("uvicorn", HttpServer::Uvicorn)],
        ),
        lifespan: check.choice(
            "lifespan",
            config.lifespan.as_deref(),
            &[("auto", Lifespan::Auto), ("on", Lifespan::On), ("off", Lifespan::Off)],
        ),
        root_path: check.root_path(config.root_path.as_deref()),
        niceness: check.niceness(config.niceness.unwrap_or(usual.niceness)),
        environment: config.environment.clone().into_iter().collect(),
        name,
        app,
        app_dir,
        dir,
        memory_reserve_bytes: usual.memory_reserve_bytes,
    }
}

const ON_OFF: [(&str, bool); 2] = [("on", true), ("off", false)];

struct PoolCheck<'w> {
    wrong: &'w mut dyn FnMut(&str, String),
}

impl PoolCheck<'_> {
    fn name(&mut self, name: Option<&str>) -> String {
        let name = name.unwrap_or_default();
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        if name.is_empty() {
            (self.wrong)("name", "is missing: what do routes call it?".to_owned());
        } else if !name.chars().all(fits) {
            let reason =
                format!("`{name}` names a directory, too: write letters, digits, `-` and `_`");
            (self.wrong)("name", reason);
        }
        name.to_owned()
    }

    /// `module:attribute`.
    fn attribute(&mut self, key: &str, text: &str) -> String {
        let is_good = text.split_once(':').is_some_and(|(module, attribute)| {
            let part = |part: &str| {
                let mut letters = part.chars();
                letters.next().is_some_and(|l| l.is_alphabetic() || l == '_')
                    && letters.all(|l| l.is_alphanumeric() || l == '_')
            };
            let call = attribute.strip_suffix(')').and_then(|call| call.split_once('('));
            let attribute = call.map_or(attribute, |(name, _)| name);
            module.split('.').all(part) && attribute.split('.').all(part)
        });
        if !is_good {
            let example = if key == "preload" { "models:load" } else { "main:app" };
            let reason = format!("`{text}` is no `module:attribute`, such as `{example}`");
            (self.wrong)(key, reason);
        }
        text.to_owned()
    }

    /// Sockets have short paths.
    fn dir(&mut self, config: &PoolConfig, root: &Path, name: &str) -> PathBuf {
        let usual = || Path::new("data/workers").join(name);
        let dir = root.join(config.dir.clone().unwrap_or_else(usual));
        let bytes = dir.as_os_str().len();
        if bytes > DIR_BYTES_MAX {
            let reason = format!(
                "`{}` has {bytes} bytes, and sockets in it may have {DIR_BYTES_MAX}: name a \
                 shorter one, such as `/run/tidegate`",
                dir.display()
            );
            (self.wrong)("dir", reason);
        }
        dir
    }

    fn at_least_one(&mut self, key: &str, count: usize) -> usize {
        if count == 0 {
            (self.wrong)(key, "is 0; write at least 1".to_owned());
        }
        count.max(1)
    }

    /// One with a directory counts from that of the configuration; another is looked for in `PATH`.
    fn interpreter(&self, config: &PoolConfig, root: &Path, usual: PathBuf) -> PathBuf {
        let interpreter = config.interpreter.clone().unwrap_or(usual);
        if interpreter.components().count() > 1 { root.join(interpreter) } else { interpreter }
    }

    /// Tunnels leave half of the requests that the workers take at once to others.
    fn tunnels(&mut self, given: Option<usize>, workers: usize, concurrency: usize) -> usize {
        let half = (workers.saturating_mul(concurrency) / 2).max(1);
        self.at_least_one("tunnels_max", given.unwrap_or(half))
    }

    fn requests(&mut self, requests: Option<RequestsMax>) -> Option<u64> {
        match requests? {
            RequestsMax::Number(0) => {
                (self.wrong)("requests_max", "is 0; write `false` for none".to_owned());
                None
            }
            RequestsMax::Number(count) => Some(count),
            RequestsMax::Usual(is_wanted) => is_wanted.then_some(REQUESTS_MAX),
        }
    }

    fn canary(&mut self, config: Option<&CanaryConfig>, usual: Option<Canary>) -> Option<Canary> {
        let Some(config) = config else { return usual };
        let path = config.path.as_deref().unwrap_or("/");
        if path == "off" {
            return None;
        }
        if !path.starts_with('/') || path.contains(|l: char| l.is_whitespace() || l.is_control()) {
            let reason = format!("`{path}` is no path; write one that begins with `/`, or `off`");
            (self.wrong)("canary.path", reason);
        }
        Some(Canary { path: path.to_owned(), status: config.status })
    }

    fn root_path(&mut self, path: Option<&str>) -> String {
        let path = path.unwrap_or_default();
        let is_good = path.starts_with('/') && path.len() > 1 && !path.ends_with('/');
        if !path.is_empty() && !is_good {
            let reason = format!("`{path}` must begin with `/` and end without: `/api`");
            (self.wrong)("root_path", reason);
        }
        path.to_owned()
    }

    /// Less than 0 would need a privilege, and be in the gateway's way.
    fn niceness(&mut self, niceness: u8) -> u8 {
        if niceness > NICENESS_MAX {
            (self.wrong)("niceness", format!("is {niceness}; write 0 to {NICENESS_MAX}"));
        }
        niceness.min(NICENESS_MAX)
    }

    fn choice<T: Copy>(&mut self, key: &str, text: Option<&str>, all: &[(&str, T)]) -> T {
        let chosen = text.map_or(Some(all[0].1), |text| {
            all.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice)
        });
        chosen.unwrap_or_else(|| {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let text = text.unwrap_or_default();
            (self.wrong)(key, format!("`{text}` is none of {}", names.join(", ")));
            all[0].1
        })
    }

    fn size_above_zero(&mut self, key: &str, text: &str) -> Option<u64> {
        match ByteSize::above_zero(text) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                (self.wrong)(key, error.to_string());
                None
            }
        }
    }

    fn span_above_zero(&mut self, key: &str, text: &str) -> Duration {
        Span::above_zero(text).unwrap_or_else(|error| {
            (self.wrong)(key, error.to_string());
            Duration::from_secs(1)
        })
    }

    fn span_or(&mut self, key: &str, text: Option<&str>, usual: Duration) -> Duration {
        text.map_or(usual, |text| self.span_above_zero(key, text))
    }
}

#[cfg(test)]
mod tests;
