//! Starts the processes that Python does not fork: preload processes, and workers that share
//! nothing.
//!
//! It sets their environment, directory, process group and output, and follows what they print. The
//! settings go as JSON in `TIDEGATE_POOL`, whose keys `python/tidegate/workers/pool.py` reads by
//! name; a test compares the two. That file reads `TIDEGATE_CONTROL`, `TIDEGATE_WORKER_ID`
//! and `TIDEGATE_GENERATION`, too; `__main__.py` beside it knows the arguments `preload` and
//! `worker`. `python/tests/conftest.py` has settings of its own, so add a new key there as well.
//! Numeric libraries get one thread each, whatever this process's environment says; only the plan's
//! `environment` wins. As many threads as cores in as many workers is the usual way to be slow.
//! Threads in a process that forks are the usual way to hang.
//! Invariant: a child does not inherit the admin token, nor the interrupt of our terminal. Refuses:
//! to wait for what it starts (`reaper.rs`).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tokio::net::unix::pipe::Receiver;

use super::fleet::ProcessName;
use super::listen::Tails;
use crate::dir::{CONTROL, PoolDir};
use crate::output::{self, Printer};
use crate::plan::Plan;

/// Numeric libraries get one thread and start none when they are imported, as ONNX Runtime's
/// telemetry does. A fork would copy the locks of such a thread, and not the thread.
const ENVIRONMENT: [(&str, &str); 10] = [
    ("OMP_NUM_THREADS", "1"),
    ("OPENBLAS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("NUMEXPR_NUM_THREADS", "1"),
    ("VECLIB_MAXIMUM_THREADS", "1"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("ORT_DISABLE_TELEMETRY", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("PYTHONIOENCODING", "utf-8:backslashreplace"),
    ("MALLOC_ARENA_MAX", "2"),
];

/// Starts a process: a worker of its generation, or else a preload process.
pub(super) fn spawn(
    plan: &Plan,
    dir: &PoolDir,
    (name, generation): (ProcessName, Option<u64>),
) -> io::Result<Child> {
    let mut command = command(plan);
    command.env(CONTROL, dir.control()).env("TIDEGATE_POOL", settings(plan));
    command.arg(dir.program());
    match name {
        ProcessName::Worker(id) => {
            command.arg("worker").env("TIDEGATE_WORKER_ID", id.to_string());
            command.env("TIDEGATE_GENERATION", generation.unwrap_or(0).to_string());
        }
        ProcessName::Preload(_) | ProcessName::Parent(_) => drop(command.arg("preload")),
    }
    command.spawn()
}

/// Follows what a process prints.
pub(super) fn follow(child: &mut Child, printer: Printer, tails: &Tails) -> io::Result<()> {
    let pipes = [
        child.stdout.take().map(|pipe| Receiver::from_owned_fd(pipe.into())),
        child.stderr.take().map(|pipe| Receiver::from_owned_fd(pipe.into())),
    ];
    let tail = tails.of(printer.pid);
    for pipe in pipes.into_iter().flatten() {
        tokio::task::spawn_local(output::follow(pipe?, printer.clone(), tail.clone()));
    }
    Ok(())
}

/// As whose output the lines of a process are logged; parents print where their preload process
/// does.
pub(super) fn printer(pool: &str, name: ProcessName, pid: i32) -> Printer {
    let process = match name {
        ProcessName::Worker(_) => name.to_string().into(),
        ProcessName::Preload(_) | ProcessName::Parent(_) => "preload".into(),
    };
    Printer { pool: pool.into(), process, pid }
}

fn command(plan: &Plan) -> Command {
    let mut command = Command::new(&plan.interpreter);
    command.current_dir(&plan.app_dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: the interrupt of a terminal is for the edge, which ends its workers.
    command.process_group(0);
    command.envs(ENVIRONMENT);
    // The app has no business on the admin listener.
    command.env_remove("TIDEGATE_ADMIN_TOKEN");
    command.envs(plan.environment.iter().map(|(name, value)| (name, value)));
    command
}

fn settings(plan: &Plan) -> String {
    json!({
        "app": plan.app,
        "kind": plan.kind,
        "preload": plan.preload,
        "app_dir": plan.app_dir,
        "folder": plan.dir,
        "threads": plan.threads,
        "concurrency": plan.concurrency,
        "server": plan.server,
        "lifespan": plan.lifespan,
        "root_path": plan.root_path,
        "niceness": plan.niceness,
    })
    .to_string()
}

#[cfg(test)]
mod tests;
