//! Starts the processes that are not forked by Python: keepers, and workers that share nothing.
//!
//! Numeric libraries get one thread each unless the configuration says otherwise: as many workers
//! as cores, each with as many threads as cores, is the usual way to be slow, and threads in a
//! process that forks are the usual way to hang.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use super::Supervisor;
use super::fleet::Who;
use crate::dir::CONTROL;
use crate::output::{self, Source};
use crate::plan::Plan;
use crate::process::Process;

/// Numeric libraries get one thread and start none when they are imported (ONNX Runtime's telemetry
/// has one): a fork would copy its locks, and not it.
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

impl Supervisor {
    /// Starts a keeper or a worker; its output is followed, its end is watched.
    pub(super) fn spawn(&mut self, who: Who) -> io::Result<Process> {
        let mut command = command(&self.pool.plan);
        command.env(CONTROL, self.dir.control()).env("TIDEGATE_POOL", settings(&self.pool.plan));
        command.arg(self.dir.program());
        match who {
            Who::Worker(id) => {
                let generation = self.workers.get(&id).map_or(0, |worker| worker.generation);
                command.arg("worker").env("TIDEGATE_WORKER_ID", id.to_string());
                command.env("TIDEGATE_GENERATION", generation.to_string());
            }
            Who::Preload(_) | Who::Parent(_) => drop(command.arg("keeper")),
        }
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).expect("the system counts processes in an i32");
        self.follow(&mut child, pid, who)?;
        self.children.push(child);
        Ok(self.watch_process(pid))
    }

    fn follow(&mut self, child: &mut Child, pid: i32, who: Who) -> io::Result<()> {
        use tokio::net::unix::pipe::Receiver;
        let pipes = [
            child.stdout.take().map(|pipe| Receiver::from_owned_fd(pipe.into())),
            child.stderr.take().map(|pipe| Receiver::from_owned_fd(pipe.into())),
        ];
        let name = match who {
            Who::Worker(_) => who.words().into(),
            Who::Preload(_) | Who::Parent(_) => "keeper".into(),
        };
        let source = Source { pool: self.pool.name().into(), who: name, pid };
        let tail = self.tails.of(pid);
        for pipe in pipes.into_iter().flatten() {
            tokio::task::spawn_local(output::follow(pipe?, source.clone(), tail.clone()));
        }
        Ok(())
    }
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
        "name": plan.name,
        "app": plan.app,
        "kind": plan.kind,
        "preload": plan.preload,
        "app_dir": plan.app_dir,
        "folder": plan.dir,
        "threads": plan.threads,
        "concurrency": plan.concurrency,
        "server": plan.server,
        "share": plan.share,
        "lifespan": plan.lifespan,
    })
    .to_string()
}
