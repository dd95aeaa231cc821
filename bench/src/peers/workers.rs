//! Python apps under Tidegate's own workers, and under gunicorn as its manual advises.
//!
//! Both run the same files of `bench/peers/workers` with the same Python.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use crate::process::Server;
use crate::setup::{Setup, free_address};

/// The core that all other rows' servers have.
pub(crate) const ONE_CORE: &str = "0";
/// Both cores, for apps whose workers are to compute at the same time; the load generator is on
/// the second as well.
pub(crate) const BOTH_CORES: &str = "0,1";

/// How an app is served.
pub(crate) struct App<'a> {
    /// Name in the tables.
    pub name: &'a str,
    /// `module:attribute`.
    pub app: &'a str,
    /// Processes.
    pub workers: usize,
    /// Cores, as `taskset` reads them.
    pub cores: &'a str,
    /// Variables of the app's environment, `NAME=VALUE`.
    pub environment: &'a [String],
    /// A path answered with 200 once it is ready.
    pub ready: &'a str,
}

/// Starts Tidegate with the app as its only upstream, and these keys beside.
pub(crate) fn tidegate(setup: &Setup, app: &App<'_>, keys: &str) -> Result<Server> {
    let sections = pool(setup, "app", app.app, &format!("workers = {}\n{keys}", app.workers))?;
    tidegate_with(setup, app, &format!("{sections}{}", route("/{*rest}", "app")))
}

/// Starts Tidegate with these sections.
pub(crate) fn tidegate_with(setup: &Setup, app: &App<'_>, sections: &str) -> Result<Server> {
    let dir = setup.dir("workers")?;
    let (public, admin) = (free_address()?, free_address()?);
    let config = format!(
        "cores = {{ edge = 1, work = 1 }}\n[listen]\npublic = \"{public}\"\nadmin = \"{admin}\"\n\
         {sections}"
    );
    let file = dir.join("tidegate.toml");
    fs::write(&file, config)?;
    let (binary, file) = (setup.tidegate()?, file.to_string_lossy().into_owned());
    let mut command = before(app);
    command.extend([&*binary.to_string_lossy(), "serve", "-c", &file].map(str::to_owned));
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    Server::start(app.name, &words, &dir, public, app.ready)
}

/// An `[[upstream]]` of Tidegate's configuration.
pub(crate) fn pool(setup: &Setup, name: &str, app: &str, keys: &str) -> Result<String> {
    Ok(format!(
        "[[upstream]]\nname = \"{name}\"\npython = \"{app}\"\ninterpreter = \"{}\"\n\
         app_dir = \"{}\"\nreload = \"off\"\n{keys}\n",
        setup.python()?.display(),
        apps(setup).display(),
    ))
}

/// A `[[route]]` of Tidegate's configuration.
pub(crate) fn route(path: &str, to: &str) -> String {
    format!("[[route]]\npath = \"{path}\"\nto = \"upstream:{to}\"\n")
}

/// Starts gunicorn with these options beside.
pub(crate) fn gunicorn(setup: &Setup, app: &App<'_>, options: &[&str]) -> Result<Server> {
    let dir = setup.dir("gunicorn")?;
    let address = free_address()?;
    let (python, apps) = (setup.python()?, apps(setup));
    let (bind, workers) = (address.to_string(), app.workers.to_string());
    let mut command = before(app);
    command.extend([&*python.to_string_lossy(), "-m", "gunicorn", app.app].map(str::to_owned));
    let usual = ["--chdir", &apps.to_string_lossy(), "--bind", &bind, "--workers", &workers];
    command.extend(usual.map(str::to_owned));
    // Its heartbeat belongs into memory, as its manual says.
    command.extend(["--worker-tmp-dir", "/dev/shm", "--log-level", "warning"].map(str::to_owned));
    command.extend(options.iter().map(|&option| option.to_owned()));
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    Server::start(app.name, &words, &dir, address, app.ready)
}

/// Starts granian, which is written in Rust, on uvloop.
pub(crate) fn granian(setup: &Setup, app: &App<'_>) -> Result<Server> {
    let dir = setup.dir("granian")?;
    let address = free_address()?;
    let (python, apps) = (setup.python()?, apps(setup));
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let workers = app.workers.to_string();
    let mut command = before(app);
    command.extend([&*python.to_string_lossy(), "-m", "granian", app.app].map(str::to_owned));
    let usual = ["--working-dir", &apps.to_string_lossy(), "--host", &host, "--port", &port];
    command.extend(usual.map(str::to_owned));
    // The apps know nothing of startup and shutdown.
    let kind = ["--workers", &workers, "--interface", "asginl", "--loop", "uvloop", "--no-ws"];
    command.extend(kind.map(str::to_owned));
    command.extend(["--log-level", "warning"].map(str::to_owned));
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    Server::start(app.name, &words, &dir, address, app.ready)
}

/// The options that make gunicorn's workers uvicorn's, for ASGI.
pub(crate) const UVICORN: [&str; 2] = ["--worker-class", "uvicorn_worker.UvicornWorker"];

/// For all alike.
///
/// onnxruntime would otherwise start a thread at its import, which reports to its maker. A process
/// with threads should not be forked.
const ENVIRONMENT: [&str; 4] = [
    "OMP_NUM_THREADS=1",
    "OPENBLAS_NUM_THREADS=1",
    "ORT_DISABLE_TELEMETRY=1",
    "PYTHONDONTWRITEBYTECODE=1",
];

fn apps(setup: &Setup) -> PathBuf {
    setup.root().join("bench/peers/workers")
}

fn before(app: &App<'_>) -> Vec<String> {
    let mut words = ["taskset", "-c", app.cores, "env"].map(str::to_owned).to_vec();
    words.extend(ENVIRONMENT.map(str::to_owned));
    words.extend(app.environment.iter().cloned());
    words
}
