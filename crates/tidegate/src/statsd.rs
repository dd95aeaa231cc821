//! `tidegate statsd`: a statsd server alone, until it is told to end.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chassis::config::Problem;
use metrics::Registry;
use statsd::{Flavour, Server, StatsdError, plan::Plan};

use crate::cli::StatsdArgs;
use crate::commands::WrongConfig;
use crate::config;
use crate::serve::TAKEN;
use crate::signals::EndSignals;

/// `tidegate statsd`
pub fn run(args: StatsdArgs) -> Result<()> {
    let plan = plan(args)?;
    let mut signals = EndSignals::install()?;
    let flavour = plan.flavour;
    let server = start(plan, None)?;
    for socket in &server.shared().sockets {
        let (address, buffer_bytes) = (socket.address(), socket.buffer_bytes());
        tracing::info!(address, buffer_bytes, "receiving");
    }
    if flavour == Flavour::Statsd {
        // Whoever starts statsd waits for these words.
        println!("server is up");
    }
    signals.wait();
    server.end();
    Ok(())
}

/// Starts a server, which flushes the metrics of `registry`, too.
///
/// # Errors
/// When an address is taken, with a hint; when the system has no threads left.
pub fn start(plan: Plan, registry: Option<&Registry>) -> Result<Server> {
    Server::start(plan, registry).map_err(|error| match error {
        StatsdError::Bind { .. } => anyhow::Error::new(error).context(TAKEN),
        _ => error.into(),
    })
}

fn plan(args: StatsdArgs) -> Result<Plan> {
    let flavour = args.compat.as_deref().and_then(Flavour::named);
    let file = args.config.or_else(|| args.files.first().map(PathBuf::from));
    let file = file.unwrap_or_else(|| {
        PathBuf::from(if flavour.is_some() { "localConfig.js" } else { "tidegate.toml" })
    });
    let is_toml = file.extension().is_some_and(|extension| extension == "toml");
    if is_toml && flavour.is_none() {
        return own(file);
    }
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("read the configuration `{}`", file.display()))?;
    statsd::read_legacy(&text, flavour.unwrap_or(Flavour::Statsd)).map_err(|error| {
        let problem = Problem { line: error.line, key: String::new(), message: error.why };
        WrongConfig::new(file, vec![problem]).into()
    })
}

/// Our own file; without one a server that only shows what came, on its management port.
fn own(file: PathBuf) -> Result<Plan> {
    if file == Path::new("tidegate.toml") && !file.exists() {
        let problems = &mut |key: &str, why: String| unreachable!("defaults fit: {key}: {why}");
        return Ok(statsd::config::plan(&Default::default(), Path::new("."), problems));
    }
    let plan = config::load(&file).map_err(|problems| WrongConfig::new(file.clone(), problems))?;
    plan.statsd.with_context(|| format!("run statsd by `{}`: it has no [statsd]", file.display()))
}
