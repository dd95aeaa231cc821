//! Runs `tidegate lab switch`: the on/off experiment on a target.
//!
//! It wires the plan of calls (`lab/probe/plan.rs`), the experiment (`lab::switch`), the trail of
//! actions, the file of `--save`, and the report. Both commands are recorded, and so is a target
//! that is a command.
//! Invariant: the file of `--save` is opened, and the plan is checked, before the first command. A
//! signal ends the experiment, which puts the state back, and what was measured is reported. A
//! second one ends the command under way, too. After a command that failed, whole blocks are
//! reported, and the exit code is 1.
//! Never here: which blocks are compared, and how (`verdicts::switched`).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

use anyhow::{Context, Result, ensure};
use lab::ReportOptions;
use lab::command::Program;
use lab::probe::End;
use lab::switch::{SwitchEnd, SwitchPlan, SwitchRecord, SwitchReport};
use screen::number::p;
use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use stdx::Span;
use verdicts::{blocks_needed, p_least};

use super::audited::Audited;
use super::misuse::misused;
use super::{probe, written};
use crate::cli::SwitchArgs;
use crate::exit::Exit;
use crate::output;

/// Each ends the experiment, and what is switched is put back.
const ENDS: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM];

/// `tidegate lab switch`
pub(super) fn run(args: &SwitchArgs) -> Result<()> {
    let plan = plan(args).map_err(misused)?;
    let file = args.call.save.as_deref().map(output::create).transpose()?;
    let end = ended_by_signals()?;
    announce(args);
    let mut commands = vec![recorded(&args.off), recorded(&args.on)];
    commands.extend(probe::commands(&plan.probe).0);
    let audited = Audited::begin(args.call.config.as_deref(), "lab switch", &commands)?;
    let mut watch = |block: usize, is_on: bool| {
        crate::output::tell!(
            "block {block} of {}: {}",
            args.blocks,
            if is_on { "on" } else { "off" }
        );
    };
    let mut record = SwitchRecord::default();
    let outcome = lab::switch::run(&plan, &end, &mut watch, &mut record);
    let outcome = outcome.map_err(probe::explained);
    let [off, on] = record.runs;
    audited.end(&[off, on, record.calls], outcome.as_ref().err());
    if let Some(file) = file {
        lab::session_file::write(&[&record.series], false, file).context("save the calls")?;
    }
    if outcome.is_ok() || !record.blocks.is_empty() {
        report(args, &record)?;
    }
    outcome?;
    match record.series.is_empty() {
        true => Err(Exit(1).into()),
        false => Ok(()),
    }
}

/// What the first signal and the second set.
fn ended_by_signals() -> Result<Arc<SwitchEnd>> {
    let end = Arc::new(SwitchEnd::default());
    let set = Arc::clone(&end);
    let mut signals = Signals::new(ENDS).context("install signal handlers")?;
    let heard = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for (_, flag) in signals.forever().zip([&set.soon, &set.now]) {
            flag.store(true, Ordering::Relaxed);
        }
    });
    heard.context("start a thread for signals")?;
    Ok(end)
}

fn plan(args: &SwitchArgs) -> Result<SwitchPlan> {
    ensure!(args.call.target.len() <= 1, "an experiment has one target");
    let shell = ["sh".to_owned()];
    let program = |line: &str| Program::of(Some(&shell), line);
    Ok(SwitchPlan {
        probe: probe::plan::pinned(&args.call, End::After(args.block.0))?,
        on: program(&args.on)?,
        off: program(&args.off)?,
        settle: args.settle.0,
        pairs: args.blocks / 2,
        is_left_on: args.leave == "on",
    })
}

/// Says how long it takes, and whether that can show anything.
fn announce(args: &SwitchArgs) {
    let blocks = u32::try_from(args.blocks).unwrap_or(u32::MAX);
    let takes = args.block.0.saturating_add(args.settle.0).saturating_mul(blocks);
    let (each, settle, takes) = (args.block, args.settle, Span(takes));
    crate::output::tell!("{blocks} blocks of {each} and {settle} to settle take {takes}");
    let needed = blocks_needed();
    if args.blocks < needed {
        let least = p(p_least(usize::try_from(args.blocks / 2).unwrap_or(usize::MAX)));
        crate::output::tell!(
            "note: {blocks} blocks conclude nothing: they show {least} at best; {needed} may"
        );
    }
}

/// A command's line without secrets.
fn recorded(line: &String) -> String {
    audit::words_without_secrets(std::slice::from_ref(line)).join(" ")
}

fn report(args: &SwitchArgs, record: &SwitchRecord) -> Result<()> {
    let slow_over_ms = args.call.slow.map(|slow| slow.0.as_secs_f64() * 1e3);
    let options = ReportOptions { slow_over_ms, ..ReportOptions::default() };
    let report = SwitchReport::new(record, &options);
    written::write(&args.written, |style| match args.format.as_str() {
        "json" => report.to_json() + "\n",
        "html" => report.to_html(),
        _ => report.to_text(style),
    })
}
