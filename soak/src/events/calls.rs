//! Kills before every system call that changes a disk or reaches a server, and lets each fail once.
//!
//! `strace` injects: the N-th call of a kind kills the process, or fails. N is swept from 1 until
//! a run makes fewer calls than that. After each, a clean run must end in the exact result.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use testkit::{Absent, require};

use super::options::Options;
use super::sink::Server;
use super::world::World;

/// Calls that change what others see.
const CHANGING: [&str; 8] =
    ["pwrite64", "fsync", "fdatasync", "unlink", "rename", "ftruncate", "write", "mkdir"];
/// Calls that a server at the other end sees.
///
/// The first two suffice in a short run, because a trial of a server takes most of a second.
const TALKING: [&str; 7] =
    ["sendto", "writev", "sendmsg", "write", "connect", "recvfrom", "shutdown"];
/// What becomes of calls once.
const FULL: [&str; 2] = ["error=EIO", "error=ENOSPC"];
const BROKEN: [&str; 2] = ["error=ECONNRESET", "error=ETIMEDOUT"];
/// Calls that only lie between two changes.
const OTHER: [&str; 8] =
    ["openat", "close", "pread64", "read", "fcntl", "futex", "newfstatat", "lseek"];
const KILL: &str = "signal=SIGKILL";
/// What strace writes of each thread of a process that is killed.
const KILLED: &str = "+++ killed by SIGKILL +++";
/// Lines that are delivered before, and lines that are there.
const BEFORE: u64 = 20;
const LINES: u64 = 40;
/// A process that meets one failed call must not take longer than this to end.
const LIMIT: Duration = Duration::from_secs(20);

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    kills: u64,
    failures: u64,
    /// Runs that met a failed call and still delivered everything by themselves.
    overcome: u64,
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kills, failures, overcome } = self;
        write!(
            f,
            "  {kills} kills before system calls, {failures} failed calls ({overcome} overcome by \
             the same process): 0 lost, 0 doubled"
        )
    }
}

/// Sweeps every call.
///
/// # Errors
/// The first thing found wrong.
pub(super) fn run(options: &Options, server: &Arc<Server>) -> Result<Tally> {
    let mut tally = Tally::default();
    if require("strace", Absent::Skip).is_none() {
        return Ok(tally);
    }
    let has_server = server.can_die();
    let changing = match (has_server, options.thorough) {
        (false, _) => &CHANGING[..],
        (true, true) => &TALKING[..],
        (true, false) => &TALKING[..2],
    };
    let fresh = Template::new(options, server, 0)?;
    let going_on = Template::new(options, server, BEFORE)?;
    let mut calls = changing.to_vec();
    if options.thorough {
        calls.extend(OTHER);
    }
    for call in calls {
        if options.thorough || !has_server {
            sweep(&fresh, call, KILL, &mut tally)?;
        }
        sweep(&going_on, call, KILL, &mut tally)?;
    }
    let errors = if has_server { BROKEN } else { FULL };
    for call in changing {
        for error in errors {
            if options.thorough || error == FULL[0] {
                sweep(&fresh, call, error, &mut tally)?;
            }
            if options.thorough || !has_server {
                sweep(&going_on, call, error, &mut tally)?;
            }
        }
    }
    Ok(tally)
}

/// What a trial starts from.
struct Template<'o> {
    options: &'o Options,
    server: &'o Arc<Server>,
    /// Lines that are delivered already.
    before: u64,
    /// What is copied; a server's database is made anew instead.
    world: World,
}

impl<'o> Template<'o> {
    fn new(options: &'o Options, server: &'o Arc<Server>, before: u64) -> Result<Self> {
        let world = Self::make(options, server, before)?;
        Ok(Self { options, server, before, world })
    }

    fn make(options: &Options, server: &Arc<Server>, before: u64) -> Result<World> {
        let world = World::new(&options.binary, server)?;
        world.append(0..before)?;
        if before > 0 {
            world.settle(before)?;
        }
        world.append(before..LINES)?;
        Ok(world)
    }

    fn trial(&self) -> Result<World> {
        if self.server.can_die() {
            return Self::make(self.options, self.server, self.before);
        }
        self.world.copy()
    }
}

fn sweep(template: &Template<'_>, call: &str, what: &str, tally: &mut Tally) -> Result<()> {
    for number in 1.. {
        let met = meet(template, call, what, number)
            .with_context(|| format!("at `{call}` number {number}, with {what}"))?;
        match met {
            CallOutcome::Nothing => break,
            CallOutcome::Killed => tally.kills += 1,
            CallOutcome::Failed { overcome } => {
                tally.failures += 1;
                tally.overcome += u64::from(overcome);
            }
        }
    }
    Ok(())
}

enum CallOutcome {
    /// There were fewer calls.
    Nothing,
    Killed,
    Failed {
        overcome: bool,
    },
}

fn meet(template: &Template<'_>, call: &str, what: &str, number: u32) -> Result<CallOutcome> {
    let world = template.trial()?;
    let trace = world.dir().join("trace");
    let trace = trace.to_str().context("the directory's name is not UTF-8")?;
    let (filter, inject) = (format!("trace={call}"), format!("inject={call}:{what}:when={number}"));
    let strace = ["strace", "-f", "-qq", "-o", trace, "-e", &filter, "-e", &inject];
    let mut process = world.start(&strace, true)?;
    let ended = process.wait(LIMIT);
    let traced = std::fs::read_to_string(trace)?;
    let status = match ended {
        // strace may wait for ever for a thread that died with the others.
        Err(_) if what == KILL && traced.contains(KILLED) => None,
        ended => Some(ended?),
    };
    drop(process);
    world.settle(LINES)?;
    Ok(match (what, status) {
        (KILL, None) => CallOutcome::Killed,
        (KILL, Some(status)) if status.signal() == Some(9) => CallOutcome::Killed,
        (_, Some(status)) if what != KILL && traced.contains("(INJECTED)") => {
            CallOutcome::Failed { overcome: status.success() }
        }
        _ => CallOutcome::Nothing,
    })
}
