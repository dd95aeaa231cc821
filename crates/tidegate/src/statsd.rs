//! `tidegate statsd`: a statsd server alone, until it is told to end.

mod eval;
mod munin;
mod reload;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use chassis::config::Problem;
use generation::{FileVersion, Watcher};
use metrics::Registry;
use statsd::{Flavour, Server, Shared, StatsdError, plan::Plan};

use crate::cli::{StatsdArgs, StatsdCommand};
use crate::commands::WrongConfig;
use crate::config;
use crate::serve::TAKEN;
use crate::signals::EndSignals;
pub(crate) use reload::Read;

/// A server with what reads its configuration again.
pub(crate) struct Running {
    server: Server,
    reload: Option<Watcher>,
}

/// `tidegate statsd`
pub(crate) fn run(args: StatsdArgs) -> Result<()> {
    match args.command {
        Some(StatsdCommand::Eval(args)) => return eval::run(args),
        Some(StatsdCommand::Munin(args)) => return munin::run(&args),
        None => {}
    }
    let flavour = args.compat.as_deref().and_then(Flavour::named);
    let file = args.config.or_else(|| args.files.first().map(PathBuf::from));
    let file = file.unwrap_or_else(|| {
        PathBuf::from(if flavour.is_some() { "localConfig.js" } else { "tidegate.toml" })
    });
    // Before it is read, so that no change is missed.
    let source = FileVersion::at(&file).ok();
    let plan = plan(&file, flavour)?;
    let mut signals = EndSignals::install()?;
    let flavour_read = plan.flavour;
    let again = file.clone();
    let read = move || self::plan(&again, flavour);
    let running = Running::start(plan, None, (file, source, Box::new(read)))?;
    for socket in &running.shared().sockets {
        let (address, buffer_bytes) = (socket.address(), socket.buffer_bytes());
        tracing::info!(address, buffer_bytes, "receiving");
    }
    if flavour_read == Flavour::Statsd {
        // Whoever starts statsd waits for these words.
        println!("server is up");
    }
    signals.wait();
    running.end();
    Ok(())
}

impl Running {
    /// Starts a server, which flushes the metrics of `registry`, too, and goes by the file as it
    /// is read again.
    ///
    /// # Errors
    /// When an address is taken, with a hint; when the system has no threads left.
    pub(crate) fn start(
        plan: Plan,
        registry: Option<&Registry>,
        (file, source, read): (PathBuf, Option<FileVersion>, Read),
    ) -> Result<Self> {
        let server = Server::start(plan, registry).map_err(|error| match error {
            StatsdError::Bind { .. } => anyhow::Error::new(error).context(TAKEN),
            _ => error.into(),
        })?;
        let is_there = source.is_some();
        let reload = is_there.then(|| reload::watch(server.shared(), (file, source), read));
        Ok(Self { reload: reload.transpose()?, server })
    }

    /// What the server's threads share.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.server.shared()
    }

    /// Takes what still waits, flushes it, and waits until backends have delivered.
    pub(crate) fn end(self) {
        if let Some(reload) = self.reload {
            reload.stop();
        }
        self.server.end();
    }
}

/// The plan of a file of ours.
///
/// # Errors
/// With every problem of the file; when it has no `[statsd]`.
pub(crate) fn of_own_file(file: &Path) -> Result<Plan> {
    let wrong = |problems| WrongConfig::new(file.to_owned(), problems);
    let plan = config::load(file).map_err(wrong)?;
    plan.statsd.with_context(|| format!("run statsd by `{}`: it has no [statsd]", file.display()))
}

fn plan(file: &Path, flavour: Option<Flavour>) -> Result<Plan> {
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    if is_toml && flavour.is_none() {
        let is_default = file == Path::new("tidegate.toml") && !file.exists();
        return if is_default { Ok(without_file()) } else { of_own_file(file) };
    }
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("read the configuration `{}`", file.display()))?;
    statsd::read_legacy(&text, flavour.unwrap_or(Flavour::Statsd)).map_err(|error| {
        let problem = Problem { line: error.line, key: String::new(), message: error.why };
        WrongConfig::new(file.to_owned(), vec![problem]).into()
    })
}

/// A server that only shows what came, on its management port, and keeps nothing.
fn without_file() -> Plan {
    let config = statsd::config::Config { snapshot: Some("off".to_owned()), ..Default::default() };
    let problems = &mut |key: &str, why: String| unreachable!("defaults fit: {key}: {why}");
    statsd::config::plan(&config, Path::new("."), problems)
}
