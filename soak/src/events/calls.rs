//! Kills before every system call that changes a disk, and lets every such call fail once.
//!
//! `strace` injects: the N-th call of a kind kills the process, or fails. N is swept from 1 until
//! a run makes fewer calls than that. After each, a clean run must end in the exact result.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use anyhow::{Context, Result};
use testkit::{Absent, require};

use super::Options;
use super::sink::Engine;
use super::world::World;

/// Calls that change what others see.
const CHANGING: [&str; 8] =
    ["pwrite64", "fsync", "fdatasync", "unlink", "rename", "ftruncate", "write", "mkdir"];
/// Calls that only lie between two changes.
const OTHER: [&str; 8] =
    ["openat", "close", "pread64", "read", "fcntl", "futex", "newfstatat", "lseek"];
const KILL: &str = "signal=SIGKILL";
/// Lines that are delivered before, and lines that are there.
const BEFORE: u64 = 20;
const LINES: u64 = 40;
/// A process that meets one failed call must not take longer than this to end.
const LIMIT: Duration = Duration::from_secs(20);

/// What was done.
#[derive(Debug, Default)]
pub struct Tally {
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
pub fn run(options: &Options) -> Result<Tally> {
    let mut tally = Tally::default();
    if require("strace", Absent::Skip).is_none() {
        return Ok(tally);
    }
    let fresh = World::new(&options.binary, options.engine)?;
    fresh.append(0..LINES)?;
    let going_on = World::new(&options.binary, options.engine)?;
    going_on.append(0..BEFORE)?;
    going_on.settle(BEFORE)?;
    going_on.append(BEFORE..LINES)?;
    let mut calls = CHANGING.to_vec();
    if options.thorough {
        calls.extend(OTHER);
    }
    for call in calls {
        for world in [&fresh, &going_on] {
            sweep(world, call, KILL, &mut tally)?;
        }
    }
    for call in CHANGING {
        for error in ["error=EIO", "error=ENOSPC"] {
            if options.thorough || error == "error=EIO" {
                sweep(&fresh, call, error, &mut tally)?;
            }
            sweep(&going_on, call, error, &mut tally)?;
        }
    }
    Ok(tally)
}

fn sweep(template: &World, call: &str, what: &str, tally: &mut Tally) -> Result<()> {
    for number in 1.. {
        let met = meet(template, call, what, number)
            .with_context(|| format!("at `{call}` number {number}, with {what}"))?;
        match met {
            Met::Nothing => break,
            Met::Killed => tally.kills += 1,
            Met::Failed { overcome } => {
                tally.failures += 1;
                tally.overcome += u64::from(overcome);
            }
        }
    }
    Ok(())
}

enum Met {
    /// There were fewer calls.
    Nothing,
    Killed,
    Failed {
        overcome: bool,
    },
}

fn meet(template: &World, call: &str, what: &str, number: u32) -> Result<Met> {
    let world = template.copy(Engine::Sqlite)?;
    let trace = world.folder().join("trace");
    let trace = trace.to_str().context("the folder's name is not UTF-8")?;
    let (filter, inject) = (format!("trace={call}"), format!("inject={call}:{what}:when={number}"));
    let strace = ["strace", "-f", "-qq", "-o", trace, "-e", &filter, "-e", &inject];
    let mut process = world.start(&strace, true)?;
    let status = process.wait(LIMIT)?;
    let injected = std::fs::read_to_string(trace)?.contains("(INJECTED)");
    world.settle(LINES)?;
    Ok(match (what, status.signal(), injected) {
        (KILL, Some(9), _) => Met::Killed,
        (KILL, _, _) | (_, _, false) => Met::Nothing,
        _ => Met::Failed { overcome: status.success() },
    })
}
