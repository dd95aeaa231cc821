//! Runs `tidegate statsd`, a statsd server alone, and starts the server that `serve` runs within.
//!
//! `Running` is a server with what reads its configuration again; `serve.rs` uses it, too. The
//! verbs `eval` and `munin` are files of their own, and so are finding the plan (`statsd/plan.rs`)
//! and reading it again (`statsd/reload.rs`).
//! Invariant: `tidegate statsd` identifies the file before it reads it, so no change is missed.
//! `serve` identifies it after reading, and misses a change in between. `end` stops the reading
//! before the server. In the flavour of statsd, `tidegate statsd` prints `server is up` once the
//! sockets are open. Programs that start statsd wait for these words, so they stay.
//! Never here: the protocol, tables and backends, which are in the crate `statsd`.

mod eval;
mod munin;
mod plan;
mod reload;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Result;
use generation::{FileVersion, Watcher};
use metrics::Registry;
use statsd::{Flavour, ServerState, SocketStatus, StatsdError, StatsdServer, plan::Plan};

use crate::cli::{StatsdArgs, StatsdCommand};
use crate::hint::{STATSD_TAKEN, TAKEN};
use crate::holders;
use crate::orphans;
use crate::service_manager;
use crate::signals::{EndSignals, Hangup};
pub(crate) use plan::{is_legacy, of_file, of_tidegate_file};
pub(crate) use reload::ConfigFile;
use reload::Sighup;

/// A server with what reads its configuration again.
pub(crate) struct Running {
    server: StatsdServer,
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
    let (plan, umask) = plan::of_file(&file, flavour)?;
    umask.set();
    let wider = umask.wider(&holders::of_statsd(&plan));
    wider.iter().for_each(|note| tracing::warn!("{note}"));
    let mut signals = EndSignals::install(Hangup::Ignored)?;
    orphans::reap_as_first()?;
    let flavour_read = plan.flavour;
    if flavour.is_none() && flavour_read != Flavour::Native {
        let (file, flavour) = (file.display(), flavour_read.name());
        tracing::info!(%file, flavour, "read as the original's; Perl's needs `--compat perl`");
    }
    let again = file.clone();
    let read = move || plan::of_file(&again, flavour).map(|(plan, _)| plan);
    let file = ConfigFile { path: file, source, read: Box::new(read) };
    let running = Running::start(plan, None, file)?;
    for SocketStatus { address, buffer_bytes, .. } in running.state().sockets() {
        tracing::info!(address, buffer_bytes, "receiving");
    }
    if flavour_read == Flavour::Statsd {
        // Whoever starts statsd waits for these words.
        println!("server is up");
    }
    service_manager::ready("receiving samples");
    signals.wait();
    service_manager::stopping("flushing");
    running.end();
    Ok(())
}

impl Running {
    /// Starts a server, which flushes the metrics of `registry`, too, and goes by the file as it
    /// is read again.
    ///
    /// # Errors
    /// When an address is taken, with a hint; when the system has no threads left.
    pub(crate) fn start(plan: Plan, registry: Option<&Registry>, file: ConfigFile) -> Result<Self> {
        let sighup = file.source.map(|_| Sighup::take_over()).transpose()?;
        let is_of_ours = plan.flavour == Flavour::Native;
        let server = StatsdServer::start(plan, registry).map_err(|error| match error {
            StatsdError::Bind { .. } if is_of_ours => anyhow::Error::new(error).context(TAKEN),
            StatsdError::Bind { .. } => anyhow::Error::new(error).context(STATSD_TAKEN),
            _ => error.into(),
        })?;
        let reload = sighup.map(|sighup| reload::watch(server.state(), file, sighup));
        Ok(Self { reload: reload.transpose()?, server })
    }

    /// What the server's threads share.
    pub(crate) fn state(&self) -> &Arc<ServerState> {
        self.server.state()
    }

    /// Takes what still waits, flushes it, and waits until backends have delivered.
    pub(crate) fn end(self) {
        if let Some(reload) = self.reload {
            reload.stop();
        }
        self.server.end();
    }
}
