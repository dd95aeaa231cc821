//! `tidegate lab probe`: calls a target, and says what its latencies are like.

mod live;
mod plan;
mod plugin;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use lab::probe::Probed;
use lab::{LabError, Series, Sorted};
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::ProbeArgs;
use crate::exit::Exit;
use crate::hint::{self, Hint};
use live::Live;
use plugin::State;

const NO_ECHO: Hint = Hint(
    "as root: `sysctl -w net.ipv4.ping_group_range='0 2147483647'`, or give the program the \
     capability cap_net_raw",
);

/// `tidegate lab probe`
pub fn run(args: &ProbeArgs) -> Result<()> {
    let plugin = &args.plugin;
    let probed = match measure(args) {
        Err(error) if plugin.plugin => {
            let (text, _) = hint::split(&error);
            return end_as(State::Unknown, &format!("LAB {} - {text}", State::Unknown));
        }
        measured => measured?,
    };
    if plugin.plugin {
        let (state, line) = plugin::judge(&probed.series[0], plugin);
        return end_as(state, &line);
    }
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = print(&probed, &mut out).and_then(|()| out.flush());
    match written {
        // Whoever reads has enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        other => other.context("print the result")?,
    }
    match probed.series.iter().any(|series| !series.is_empty()) {
        true => Ok(()),
        false => Err(Exit(1).into()),
    }
}

/// Makes the calls until they are made, or somebody wants it to end.
fn measure(args: &ProbeArgs) -> Result<Probed> {
    let plan = plan::of(args)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let installed = signal_hook::flag::register(signal, Arc::clone(&stop));
        installed.context("install signal handlers")?;
    }
    let live = Live::new(plan.planned());
    let probed = lab::probe::run(&plan, &stop, &mut |progress| live.show(progress));
    probed.map_err(|error| match error {
        LabError::Echo { .. } => anyhow::Error::new(error).context(NO_ECHO),
        _ => error.into(),
    })
}

fn end_as(state: State, line: &str) -> Result<()> {
    println!("{line}");
    match state {
        State::Ok => Ok(()),
        _ => Err(Exit(state as u8).into()),
    }
}

fn print(probed: &Probed, out: &mut impl Write) -> io::Result<()> {
    for series in &probed.series {
        print_series(series, out)?;
    }
    Ok(())
}

fn print_series(series: &Series, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}: {} calls, {} failed", series.name, series.len(), series.left_out.total())?;
    let sorted = Sorted::new(&series.total_ms);
    if !sorted.is_empty() {
        for q in [0.5, 0.9, 0.95, 0.99] {
            writeln!(out, "  p{:<4} {:10.3} ms", q * 100.0, sorted.quantile(q).ms)?;
        }
    }
    for phase in &series.phases {
        writeln!(out, "  {:<14} {:10.3} ms", phase.name, Sorted::new(&phase.ms).median())?;
    }
    for (words, count) in &series.left_out.failed {
        writeln!(out, "  {count} failed: {words}")?;
    }
    for note in &series.notes {
        writeln!(out, "  note: {note}")?;
    }
    Ok(())
}
