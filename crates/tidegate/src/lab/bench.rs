//! Runs `tidegate lab bench`: benchmarks commands, shows results as they come, and writes exports.
//!
//! Options and files are hyperfine's, whose scripts must keep working. `--vs` runs two commands in
//! turns, `--save` keeps the runs for `lab report`. Screen, progress bar and exports are here;
//! `lab/bench/subjects.rs` makes the commands.
//! Texts that `cli/lab/bench.rs` declares as values are compared here: a new one needs an arm, or
//! it counts as the last case. Ten runs, where nothing is said, are set here.
//! Invariant: each file is made before anything runs: first exports, in the order of the help, then
//! that of `--save`. Exports are written anew after each command, so what was measured survives a
//! later failure. Exports to stdout and `--save` come only at the end. The first Ctrl-C ends with
//! what was measured, the second ends the process.
//! Never here: running, timing, statistics and the formats of exports, which `lab::command` and
//! `verdicts` have.

mod subjects;

use std::io::IsTerminal;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::LabError;
use lab::bounds::BoundSample;
use lab::command::{
    self, Bench, BenchProgress, BenchResult, CommandInput, FailurePolicy, Markup, ResultFile, Runs,
    ShellStart, Subject, TimeUnit,
};
use screen::Style;
use signal_hook::consts::{SIGINT, SIGTERM};
use verdicts::{RelativeChange, Series, Sorted};

use super::audited::Audited;
use super::fail_if;
use super::misuse::misused;
use crate::cli::BenchArgs;
use crate::hint::Hint;
use crate::output;

const IGNORE: Hint =
    Hint("`--ignore-failure` goes on all the same, `--show-output` shows what the command says");
const AFTER_DASHES: Hint = Hint("a line for the shell needs no `--` before it");
const WITHOUT_SHELL: Hint = Hint(
    "without a shell the first word is a program: is it installed, and in PATH? a line for the \
     shell needs no `-N`",
);
const NO_SHELL: Hint = Hint("`--shell` names a shell that is installed");
const COMPARED: &str = "two commands";
const REDRAW: Duration = Duration::from_millis(100);
const BAR: &str = "{msg} {bar:30} {pos}/{len}, {eta} left";

/// Benchmarks the commands.
///
/// # Errors
/// When a command cannot be run, fails and that is not ignored, or a bound is not kept.
pub(super) fn run(args: &BenchArgs) -> Result<()> {
    let subjects = subjects::of(args).map_err(misused)?;
    fail_if::check(&args.bounds, subjects.len() == 2, COMPARED).map_err(misused)?;
    let all = exports(args).map_err(misused)?.into_iter();
    let (printed, exports): (Vec<_>, Vec<_>) = all.partition(|(_, path)| is_stdout(path));
    let session = args.save.as_deref().map(output::create).transpose()?;
    let cancel = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let installed =
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&cancel))
                .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&cancel)));
        installed.context("install signal handlers")?;
    }
    let screen = Screen::of(args);
    let shell = match subjects::shell(args)? {
        Some(shell) => Some(screen.watched("measuring the shell's start", |_| {
            ShellStart::measure(&shell).map_err(|error| explained(error, args))
        })?),
        None => None,
    };
    let bench = Bench {
        runs: runs(args),
        failures: failures(args)?,
        input: input(&args.input),
        shell,
        cancel: &cancel,
    };
    let bench_run = BenchRun { args, screen: &screen, exports: &exports };
    let mut results = Vec::new();
    let commands: Vec<String> = subjects.iter().map(subjects::recorded).collect();
    let audited = Audited::begin(args.config.as_deref(), "lab bench", &commands)?;
    let outcome = bench_run.measure(&bench, &subjects, &mut results);
    let runs: Vec<u64> = results.iter().map(|result| result.times.len() as u64).collect();
    audited.end(&runs, outcome.as_ref().err());
    if cancel.load(Ordering::Relaxed) && outcome.is_ok() {
        crate::output::tell!("interrupted; this is what was measured until then");
    }
    outcome?;
    for (kind, _) in printed {
        output::print(&exported(kind, args, &results, screen.unit)?)?;
    }
    if let Some(file) = session {
        let series: Vec<Series> = results.iter().map(BenchResult::series).collect();
        let all: Vec<&Series> = series.iter().collect();
        lab::session_file::write(&all, args.vs.is_some(), file).context("save the runs")?;
    }
    bounded(args, &results, &screen)
}

/// Holds the runs of each command against the bounds, and the second of two against the first.
fn bounded(args: &BenchArgs, results: &[BenchResult], screen: &Screen) -> Result<()> {
    let change = match results {
        [first, second] => RelativeChange::of(&first.times, &second.times, args.vs.is_some()),
        _ => None,
    };
    let times = |result: &BenchResult| Sorted::of(result.times.iter().map(|time| 1e3 * time));
    let times: Vec<Sorted> = results.iter().map(times).collect();
    let sample = |(at, result): (usize, &'_ BenchResult)| {
        let failed = result.failures();
        BoundSample {
            name: if results.len() > 1 { &results[at].title } else { "" },
            times: &times[at],
            max_ms: times[at].at(1.0),
            succeeded: (result.times.len() - failed) as u64,
            failed: failed as u64,
            change: change.as_ref().filter(|_| at == 1),
        }
    };
    let samples: Vec<BoundSample<'_>> = results.iter().enumerate().map(sample).collect();
    let outcomes = fail_if::judge(&args.bounds, &samples);
    match screen.is_silent {
        true => fail_if::warn(&outcomes),
        false => output::print(&fail_if::text(&outcomes, &screen.style))?,
    }
    fail_if::end(&outcomes)
}

/// What is shown and written of a benchmark while it goes on.
struct BenchRun<'a> {
    args: &'a BenchArgs,
    screen: &'a Screen,
    exports: &'a [(ResultFile, &'a Path)],
}

impl BenchRun<'_> {
    /// Runs one subject after the other, or the two of `--vs` in turns, and shows each.
    fn measure(
        &self,
        bench: &Bench<'_>,
        subjects: &[Subject],
        results: &mut Vec<BenchResult>,
    ) -> Result<()> {
        let (args, screen) = (self.args, self.screen);
        let groups = if args.vs.is_some() { vec![subjects] } else { subjects.chunks(1).collect() };
        for group in groups {
            if bench.cancel.load(Ordering::Relaxed) {
                break;
            }
            let measured = screen.watched("running", |bar| {
                let ran = bench.run(group, &mut |progress| show(bar, progress));
                ran.map_err(|error| explained(error, args))
            })?;
            for result in measured.into_iter().filter(|result| !result.times.is_empty()) {
                let (number, style) = (results.len() + 1, &screen.style);
                screen.print(&command::text(number, &result, screen.unit, style))?;
                results.push(result);
            }
            // After each, so that a failure of a later one does not take the earlier with it.
            write(self.exports, args, results, screen.unit)?;
        }
        if results.is_empty() {
            bail!("interrupted before a run was complete");
        }
        if let [first, second] = results.as_slice()
            && args.vs.is_some()
        {
            return screen.print(&command::versus(first, second, &screen.style));
        }
        if results.len() > 1 {
            let all: Vec<&BenchResult> = results.iter().collect();
            let reference = reference(args, results);
            let text = command::summary(&all, reference, args.sort != "command", &screen.style);
            screen.print(&text)?;
        }
        Ok(())
    }
}

/// What the others are compared with: the one named, or the fastest.
fn reference<'r>(args: &BenchArgs, results: &'r [BenchResult]) -> &'r BenchResult {
    let fastest = results.iter().min_by(|one, other| one.mean.total_cmp(&other.mean));
    match args.reference {
        Some(_) => &results[0],
        None => fastest.unwrap_or(&results[0]),
    }
}

fn runs(args: &BenchArgs) -> Runs {
    let time = Duration::try_from_secs_f64(args.min_benchmarking_time).unwrap_or_default();
    match args.runs {
        Some(runs) => {
            Runs { warm_up: args.warmup, min: runs, max: Some(runs), time_min: Duration::ZERO }
        }
        None => Runs {
            warm_up: args.warmup,
            min: args.min_runs.unwrap_or(10).min(args.max_runs.unwrap_or(u64::MAX)),
            max: args.max_runs,
            time_min: time,
        },
    }
}

fn failures(args: &BenchArgs) -> Result<FailurePolicy> {
    match args.ignore_failure.as_deref() {
        None => Ok(FailurePolicy::Fatal),
        Some("all-non-zero") => Ok(FailurePolicy::Ignored),
        Some(codes) => {
            let codes = codes.split(',').map(|code| code.trim().parse::<i32>());
            let codes = codes.collect::<Result<Vec<_>, _>>();
            Ok(FailurePolicy::Codes(
                codes.context("`--ignore-failure` takes exit codes, such as 1,2")?,
            ))
        }
    }
}

fn input(text: &str) -> CommandInput {
    if text == "null" { CommandInput::Null } else { CommandInput::File(text.into()) }
}

/// The files to write, each of which must be writable before anything is measured.
fn exports(args: &BenchArgs) -> Result<Vec<(ResultFile, &Path)>> {
    let all = [
        (ResultFile::Json, &args.export_json),
        (ResultFile::Csv, &args.export_csv),
        (ResultFile::Markup(Markup::Markdown), &args.export_markdown),
        (ResultFile::Markup(Markup::Asciidoc), &args.export_asciidoc),
        (ResultFile::Markup(Markup::Org), &args.export_orgmode),
    ];
    let all = all.into_iter().filter_map(|(kind, path)| Some((kind, path.as_deref()?)));
    let all: Vec<(ResultFile, &Path)> = all.collect();
    ensure!(
        args.save.is_none() || args.vs.is_some() || args.command.len() <= 2,
        "`--save` keeps one command, or two to compare"
    );
    for (_, path) in all.iter().filter(|(_, path)| !is_stdout(path)) {
        output::create(path)?;
    }
    Ok(all)
}

/// Where hyperfine writes a file, and at the end to stdout for `-`, so do we.
fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

fn write(
    exports: &[(ResultFile, &Path)],
    args: &BenchArgs,
    results: &[BenchResult],
    unit: Option<TimeUnit>,
) -> Result<()> {
    for (kind, path) in exports {
        let text = exported(*kind, args, results, unit)?;
        let written = output::create(path)?.write_all(text.as_bytes());
        written.with_context(|| format!("write `{}`", path.display()))?;
    }
    Ok(())
}

fn exported(
    kind: ResultFile,
    args: &BenchArgs,
    results: &[BenchResult],
    unit: Option<TimeUnit>,
) -> Result<String> {
    let Some(first) = results.first() else { return Ok(String::new()) };
    let mut all: Vec<&BenchResult> = results.iter().collect();
    Ok(match kind {
        ResultFile::Json => command::to_json(&all)?,
        ResultFile::Csv => command::to_csv(&all),
        ResultFile::Markup(markup) => {
            if args.sort == "mean-time" {
                all.sort_by(|one, other| one.mean.total_cmp(&other.mean));
            }
            let reference = if args.vs.is_some() { first } else { reference(args, results) };
            command::to_markup(&all, reference, markup, unit)
        }
    })
}

/// With a hint where the user can act.
fn explained(error: LabError, args: &BenchArgs) -> anyhow::Error {
    match &error {
        LabError::Command { when, .. } if when.starts_with("in ") => {
            anyhow::Error::new(error).context(IGNORE)
        }
        LabError::System { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            let is_direct = args.no_shell || args.shell == "none";
            let hint = match (args.program.is_empty(), is_direct) {
                (false, _) => AFTER_DASHES,
                (true, true) => WITHOUT_SHELL,
                (true, false) => NO_SHELL,
            };
            anyhow::Error::new(error).context(hint)
        }
        _ => error.into(),
    }
}

/// What is shown, and how.
struct Screen {
    style: Style,
    unit: Option<TimeUnit>,
    is_silent: bool,
    has_progress: bool,
}

impl Screen {
    fn of(args: &BenchArgs) -> Self {
        let usual = output::style();
        let colour = match args.style.as_str() {
            "basic" | "nocolor" => false,
            "full" | "color" => true,
            _ => usual.colour,
        };
        let is_terminal = std::io::stderr().is_terminal();
        let has_progress = match args.style.as_str() {
            "basic" | "color" | "none" => false,
            _ => is_terminal && !args.show_output,
        };
        let unit = args.time_unit.as_deref().map(|unit| match unit {
            "microsecond" => TimeUnit::Microsecond,
            "millisecond" => TimeUnit::Millisecond,
            _ => TimeUnit::Second,
        });
        let style = Style { colour, ..usual };
        Self { style, unit, is_silent: args.style == "none", has_progress }
    }

    fn print(&self, text: &str) -> Result<()> {
        if self.is_silent { Ok(()) } else { output::print(&format!("{text}\n")) }
    }

    /// Shows a bar while `work` goes on.
    fn watched<T>(&self, what: &str, work: impl FnOnce(&ProgressBar) -> Result<T>) -> Result<T> {
        let target = match self.has_progress {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(REDRAW);
        let done = work(&bar);
        bar.finish_and_clear();
        done
    }
}

fn show(bar: &ProgressBar, progress: BenchProgress) {
    let (done, all) = match progress {
        BenchProgress::WarmUp(done, all) => {
            bar.set_message("warming up");
            (done, all)
        }
        BenchProgress::Run(done, all, mean) => {
            bar.set_message(format!("mean {:.1} ms", 1e3 * mean));
            (done, all)
        }
    };
    if bar.length().is_none() {
        bar.set_style(ProgressStyle::with_template(BAR).expect("the template is well-formed"));
    }
    bar.set_length(all);
    bar.set_position(done);
}
