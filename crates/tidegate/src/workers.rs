//! Starts the pools of Python workers with the server, lends workers to the gateway, and ends them.
//!
//! `Lender` and `WorkerLoan` adapt `workers` to the gateway's ports, as `ports.rs` does for other
//! roles. The second half is `tidegate workers`: it asks a running server's `/workers` and prints
//! tables, as docs/WORKERS.md shows. Fields of `workers::Status` are found by name: a renamed one
//! shows as `-`, or not at all, so rename it here, too.
//! Invariant: the adapters decide nothing; each of the pool's refusals becomes one of the
//! gateway's. `end` lets every pool begin to end before it waits for the first.
//! Never here: how workers are started, counted and replaced (`workers`), and the page itself
//! (`admin/workers.rs`).

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use gateway::{Acquire, Loan, NoWorker};
use metrics::Registry;
use serde_json::Value;
use tokio::time::Instant;
use workers::{LendError, Plan, WorkerPool, Workers};

use crate::cli::{PoolArgs, WorkersCommand};
use crate::commands::ask_admin;
use crate::output;

/// The pools of a server.
#[derive(Debug, Default)]
pub(crate) struct Pools(Vec<Workers>);

impl Pools {
    /// Starts every pool; returns while their apps load.
    ///
    /// # Errors
    /// When an interpreter or an app's directory is missing, or sockets cannot be made.
    pub(crate) fn start(plans: Vec<Plan>, registry: &Registry) -> Result<Self> {
        let start = |plan: Plan| {
            let name = plan.name.clone();
            Workers::start(plan, registry).with_context(|| format!("start workers of `{name}`"))
        };
        plans.into_iter().map(start).collect::<Result<_>>().map(Self)
    }

    /// Their workers as the gateway sees them, by the upstream for which they answer.
    pub(crate) fn workers(&self) -> HashMap<String, Arc<dyn gateway::Workers>> {
        let lender = |pool: Arc<WorkerPool>| {
            let name = pool.name().to_owned();
            (name, Arc::new(Lender(pool)) as Arc<dyn gateway::Workers>)
        };
        self.pools().into_iter().map(lender).collect()
    }

    /// What lends workers.
    pub(crate) fn pools(&self) -> Vec<Arc<WorkerPool>> {
        self.0.iter().map(Workers::pool).collect()
    }

    /// Lets workers finish, and ends all of their processes.
    pub(crate) fn end(self) {
        self.0.iter().for_each(Workers::begin_end);
        self.0.into_iter().for_each(Workers::end);
    }
}

/// A pool as the gateway sees it.
#[derive(Debug)]
struct Lender(Arc<WorkerPool>);

impl gateway::Workers for Lender {
    fn is_ready(&self) -> bool {
        self.0.is_ready()
    }

    fn take(&self, end: Instant) -> Acquire {
        let pool = Arc::clone(&self.0);
        Box::pin(async move { lent(pool.take(end.into_std()).await) })
    }

    fn take_ahead(&self, end: Instant) -> Acquire {
        let pool = Arc::clone(&self.0);
        Box::pin(async move { lent(pool.take_ahead(end.into_std()).await) })
    }
}

fn lent(taken: Result<workers::Loan, LendError>) -> Result<Box<dyn Loan>, NoWorker> {
    let loan = taken.map_err(|error| match error {
        LendError::Full(_) => NoWorker::Full,
        LendError::TimedOut => NoWorker::Late,
        LendError::NoWorkers(_) => NoWorker::Away,
    })?;
    Ok(Box::new(WorkerLoan(loan)))
}

/// A worker as the gateway sees it.
#[derive(Debug)]
struct WorkerLoan(workers::Loan);

impl Loan for WorkerLoan {
    fn worker(&self) -> u64 {
        self.0.worker()
    }

    fn socket(&self) -> &Path {
        self.0.socket()
    }

    fn is_ahead(&self) -> bool {
        self.0.is_ahead()
    }

    fn given_back(self: Box<Self>) {
        self.0.given_back();
    }

    fn done(self: Box<Self>) {
        self.0.done();
    }

    fn timed_out(self: Box<Self>) {
        self.0.timed_out();
    }

    fn lost(self: Box<Self>) {
        self.0.lost();
    }
}

/// `tidegate workers`
///
/// # Errors
/// When no server is there, or it has no such pool.
pub(crate) fn command(command: WorkersCommand) -> Result<()> {
    match command {
        WorkersCommand::List { admin, pool, format } => {
            let text = ask_admin(&admin, "GET", "/workers", &[])?;
            let all: Vec<Value> = serde_json::from_str(&text).context("read the answer")?;
            let wanted = |one: &Value| pool.as_ref().is_none_or(|name| one["name"] == **name);
            let all: Vec<Value> = all.into_iter().filter(wanted).collect();
            if let Some(name) = pool.filter(|_| all.is_empty()) {
                anyhow::bail!("the server has no pool `{name}`");
            }
            match format.as_str() {
                "json" => println!("{:#}", Value::from(all)),
                _ => output::print_cleaned(&all.iter().map(table).collect::<String>())?,
            }
        }
        WorkersCommand::Recycle(args) => tell("/workers/recycle", &args)?,
        WorkersCommand::Reload(args) => tell("/workers/reload", &args)?,
    }
    Ok(())
}

fn tell(path: &str, args: &PoolArgs) -> Result<()> {
    let body = serde_json::json!({ "name": args.pool }).to_string();
    let answer = ask_admin(&args.admin, "POST", path, body.as_bytes())?;
    print!("{answer}");
    Ok(())
}

/// A pool for people: how it stands, its workers, and what went wrong last.
fn table(pool: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| shown(value), str::to_owned);
    let mut out = format!(
        "{}: {}, generation {}, {} waiting, {} in workers",
        text(&pool["name"]),
        text(&pool["state"]),
        shown(&pool["generation"]),
        shown(&pool["queue"]),
        shown(&pool["in_flight"]),
    );
    for (key, words) in [("preload_s", "loaded in"), ("reload_s", "started in")] {
        if let Some(seconds) = pool[key].as_f64() {
            out += &format!(", {words} {seconds:.2} s");
        }
    }
    let restarts = pool["restarts"].as_object().into_iter().flatten();
    let restarts: Vec<String> =
        restarts.map(|(reason, count)| format!("{reason} {count}")).collect();
    if !restarts.is_empty() {
        out += &format!("; ended: {}", restarts.join(", "));
    }
    out += "\n  worker     pid state      requests      age   private    shared    silent\n";
    for worker in pool["workers"].as_array().into_iter().flatten() {
        let memory =
            |key: &str| worker["memory"][key].as_f64().map_or_else(|| "-".to_owned(), megabytes);
        out += &format!(
            "  {:>6} {:>7} {:<9} {:>9} {:>8} {:>9} {:>9} {:>9}\n",
            shown(&worker["id"]),
            shown(&worker["pid"]),
            text(&worker["state"]),
            shown(&worker["requests"]),
            seconds(&worker["age_s"]),
            memory("private"),
            memory("shared"),
            seconds(&worker["answered_s_ago"]),
        );
        out += &trouble("    ", &worker["last_error"]);
    }
    let last = trouble("  ", &pool["last_error"]);
    let is_over = pool["state"] == "serving" && !last.is_empty();
    out + if is_over { "  the last trouble, which is over:\n" } else { "" } + &last
}

/// What went wrong and when, with what Python said and what the process printed.
fn trouble(indent: &str, trouble: &Value) -> String {
    let Some(reason) = trouble["reason"].as_str() else { return String::new() };
    let stage = trouble["stage"].as_str().unwrap_or("error");
    let ago_us = stdx::unix_micros().saturating_sub(trouble["unix_us"].as_u64().unwrap_or(0));
    let ago = seconds(&Value::from(ago_us as f64 / 1e6));
    let mut out = format!("{indent}{ago} ago: {}\n", workers::in_one_line(stage, reason));
    let lines = trouble["traceback"].as_str().unwrap_or_default().lines();
    lines.for_each(|line| out += &format!("{indent}  {line}\n"));
    let printed = trouble["output"].as_array().into_iter().flatten().filter_map(Value::as_str);
    printed.for_each(|line| out += &format!("{indent}  | {line}\n"));
    if let Some(hint) = trouble["hint"].as_str() {
        out += &format!("{indent}hint: {hint}\n");
    }
    out
}

fn shown(value: &Value) -> String {
    if value.is_null() { "-".to_owned() } else { value.to_string() }
}

fn seconds(value: &Value) -> String {
    value.as_f64().map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1} s"))
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1} MB", bytes / 1e6)
}
