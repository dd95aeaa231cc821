//! Runs `tidegate traffic`: opens a log, hands it to the crate `traffic`, and says what was not
//! shown.
//!
//! A source is a running server (`traffic/running_server.rs`), a file, the directory of a journal,
//! or standard input; `source` chooses. Invariants: data goes to stdout, notes and the status line
//! to stderr. A reader that leaves ends the watch without a word, and so does a signal, after the
//! total. Nothing is written but by `--save` and `--report`. Never here: reading and showing
//! exchanges, the full screen (`traffic/full_screen.rs`), and saved queries (`traffic/saved.rs`).

mod full_screen;
mod input;
mod replay;
mod running_server;
mod saved;
mod status;

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::traffic::{
    ExchangeTally, FollowedFile, Grouping, JournalSource, OutputFormat, OutputOptions, Query,
    QueryOptions, ReportAbout, Start, VlogdumpOptions, WatchCounts, WatchError, WatchLimits,
    WatchOptions, Watched,
};
use anyhow::{Context, Error, Result, anyhow};
use exchange::Filter;
use screen::Style;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::TrafficArgs;
use crate::commands;
use crate::commands::counted;
use crate::environment;
use crate::exit::Misuse;
use crate::hint::Hint;
use crate::output;
use crate::unpacked::Unpacked;
use full_screen::Watching;
use input::Interruptible;
use running_server::{LiveSource, LiveView, ServerProgress};
use status::StatusLine;

const NO_FORMAT: Hint = Hint(
    "`--input-format` says what it is; `tidegate events inspect --guess FILE` knows more formats \
     of access logs",
);
const ONLY_QUERIES: Hint = Hint("select records by `-q`, such as `-q 'vxid == 0 and Error'`");
const LACKS_ENDS: &str = "these records cannot be grouped, for none of their transactions begins \
    and ends: let varnishlog's `-i` and `-I` pass `Begin` and `End` as well";

/// `tidegate traffic`
///
/// # Errors
/// When an option is wrong, the source cannot be read, or its format is not known.
pub(crate) fn command(args: &TrafficArgs) -> Result<()> {
    if args.queries {
        return saved::list();
    }
    if let [name, text] = args.save.as_slice() {
        return saved::save(name, text);
    }
    let vlogdump = vlogdump(args).map_err(misused)?;
    let options = options(args, &vlogdump)?;
    if let Some(report) = &args.report {
        output::expect_replaceable(report)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    take_signals(args, &stop)?;
    // A query or a filter may look at headers under several names.
    let selects = !args.query.is_empty() || !args.named.is_empty() || args.filter.is_some();
    let selected = selected(&options);
    let needs_headers =
        vlogdump.asks_for_headers() || args.screen || args.format == "har" || selects;
    let Source { lines, name, goes_on, server, missing } = source(args, needs_headers, &stop)?;
    if args.screen {
        let shared = Arc::clone(&server);
        let watching =
            Watching { source: lines, name: name.clone(), goes_on, options, server: shared };
        let style = Style { ascii: environment::has_only_ascii(), ..output::style() };
        let seen = full_screen::run(watching, style, &stop)?;
        let losses = Source::losses(&server, &missing);
        let (counts, dropped) = (&seen.counts, seen.dropped + losses.dropped);
        let about = ReportAbout { source: &name, selected: &selected, counts, dropped };
        report(args, &seen.tally, &about)?;
        return seen.watched.map_or(Ok(()), |watched| ended((&name, watched), &vlogdump, losses));
    }
    let mut status = StatusLine::new();
    let seen = |counts: &WatchCounts| {
        status.show(counts);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let mut tally = ExchangeTally::default();
    let watched = if args.report.is_some() {
        let found = |exchange| {
            tally.add(&exchange);
            ControlFlow::Continue(())
        };
        ::traffic::watch_exchanges(lines, options, found, seen)
    } else {
        let out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
        ::traffic::watch(lines, out, options, seen)
    };
    drop(status);
    let losses = Source::losses(&server, &missing);
    if let Ok(watched) = &watched {
        let (counts, dropped) = (&watched.counts, losses.dropped);
        report(args, &tally, &ReportAbout { source: &name, selected: &selected, counts, dropped })?;
    }
    ended((&name, watched), &vlogdump, losses)
}

/// Lets signals end the watch, so that what was seen so far is shown, and the terminal given back.
fn take_signals(args: &TrafficArgs, stop: &Arc<AtomicBool>) -> Result<()> {
    for signal in [SIGINT, SIGTERM] {
        if !args.screen {
            // A second one ends the process as it would have without this.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(stop))
                .context("take signals over")?;
        }
        signal_hook::flag::register(signal, Arc::clone(stop)).context("take signals over")?;
    }
    Ok(())
}

/// Writes the page, if one is asked for.
fn report(args: &TrafficArgs, tally: &ExchangeTally, about: &ReportAbout<'_>) -> Result<()> {
    let Some(file) = &args.report else { return Ok(()) };
    output::replace(file, &tally.to_html(about))?;
    let exchanges = counted(tally.exchanges(), "exchange");
    crate::output::tell!("wrote `{}`, about {exchanges}", file.display());
    Ok(())
}

/// Which exchanges are shown, in words; empty for all.
fn selected(options: &WatchOptions) -> String {
    let filter = options.filter.as_ref().map(|filter| filter.as_str().to_owned());
    let query = options.query.as_ref().map(|query| query.as_str().to_owned());
    let all: Vec<String> = filter.into_iter().chain(query).map(|it| format!("`{it}`")).collect();
    all.join(" and ")
}

fn is_stdin(args: &TrafficArgs) -> bool {
    args.file.as_deref().is_none_or(|file| file == Path::new("-"))
}

fn source_name(args: &TrafficArgs) -> String {
    let file = args.file.as_deref().filter(|_| !is_stdin(args));
    file.map_or_else(|| "standard input".to_owned(), |file| file.display().to_string())
}

/// Says how a watch has ended.
fn ended(
    (name, watched): (&str, Result<Watched, WatchError>),
    vlogdump: &VlogdumpOptions,
    losses: SourceLosses,
) -> Result<()> {
    match watched {
        Ok(watched) => {
            note(&watched, vlogdump, losses);
            Ok(())
        }
        // Whoever read has seen enough.
        Err(WatchError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error @ WatchError::Query(_)) => Err(misused(error)),
        Err(error @ WatchError::UnknownFormat { .. }) => {
            Err(Error::new(error).context(NO_FORMAT).context(format!("read {name}")))
        }
        Err(error) => Err(error.into()),
    }
}

fn vlogdump(args: &TrafficArgs) -> Result<VlogdumpOptions, ::traffic::OptionError> {
    let mut options = VlogdumpOptions::default();
    for assignment in &args.assignments {
        options.assign(assignment)?;
    }
    for (name, value) in args.vlogdump.named() {
        options.set(name, value)?;
    }
    Ok(options)
}

fn options(args: &TrafficArgs, vlogdump: &VlogdumpOptions) -> Result<WatchOptions> {
    let mut queries = args.query.clone();
    let mut filters = Vec::new();
    for name in &args.named {
        match saved::named(name)? {
            saved::Saved::Query(text) => queries.push(text),
            saved::Saved::Filter(text) => filters.push(text),
        }
    }
    filters.extend(args.filter.clone());
    let filters = filters.iter().map(|text| Filter::parse(text).map_err(misused));
    let filters = filters.chain(vlogdump.filter().map_err(misused)?.map(Ok));
    let filter = filters.reduce(|all, one| Ok(all?.and(one?))).transpose()?;
    let query = match queries.as_slice() {
        [] => None,
        queries => {
            let options = QueryOptions { ignores_case: args.ignore_case };
            Some(Query::parse(&queries.join("\n"), options).map_err(misused)?)
        }
    };
    let grouping = args.group.as_deref().map(|name| match name {
        "request" => Grouping::Request,
        "session" => Grouping::Session,
        "raw" => Grouping::Raw,
        _ => Grouping::Vxid,
    });
    let needs_exchanges =
        filter.is_some() || args.format == "har" || args.screen || args.report.is_some();
    if grouping == Some(Grouping::Raw) && needs_exchanges {
        return Err(misused(anyhow!(
            "`-g raw` shows records; filters, vlogdump's options, `har`, `--screen` and `--report` \
             are of exchanges"
        ))
        .context(ONLY_QUERIES));
    }
    Ok(WatchOptions {
        input_format: args.input_format,
        grouping,
        query,
        filter,
        limits: WatchLimits {
            incomplete_max: args.incomplete_max,
            timeout_us: args.timeout.saturating_mul(1_000_000),
            rate: args.rate,
        },
        output: OutputOptions {
            format: match args.format.as_str() {
                "ndjson" => OutputFormat::Ndjson,
                "har" => OutputFormat::Har,
                _ => OutputFormat::Text,
            },
            colour: match args.color.as_str() {
                "always" => true,
                "never" => false,
                _ => output::style().colour,
            },
            request_headers: vlogdump.show_request_headers,
            response_headers: vlogdump.show_response_headers,
            shows_secrets: args.show_secrets,
        },
    })
}

/// What is read.
struct Source {
    lines: LogLines,
    /// What people call it.
    name: String,
    /// Whether it goes on until a signal.
    goes_on: bool,
    /// How the server does, if it is one.
    server: Arc<ServerProgress>,
    /// Bytes that a journal should have and has not.
    missing: Arc<AtomicU64>,
}

impl Source {
    /// What of it nobody can see.
    fn losses(server: &ServerProgress, missing: &AtomicU64) -> SourceLosses {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        SourceLosses { dropped: of(&server.dropped), missing_bytes: of(missing) }
    }
}

/// What was not seen of a source.
#[derive(Debug, Clone, Copy)]
struct SourceLosses {
    /// Exchanges that a server dropped.
    dropped: u64,
    /// Bytes of a journal.
    missing_bytes: u64,
}

type LogLines = Box<dyn Read + Send>;

fn source(args: &TrafficArgs, with_headers: bool, stop: &Arc<AtomicBool>) -> Result<Source> {
    let is_named = args.server.admin.is_some() || args.server.config.is_some();
    if !is_named && (args.file.is_some() || input::has_lines()) {
        let (name, goes_on) = (source_name(args), is_stdin(args) && !input::is_file());
        let (lines, missing) = log(args, stop)?;
        return Ok(Source { lines, name, goes_on, missing, server: Arc::default() });
    }
    let (address, token) = commands::listener(&args.server)?;
    // Names that the server does not know are ours alone.
    let filter = args.filter.clone().filter(|filter| !filter.contains("var."));
    let is_quiet = args.screen;
    let view = LiveView { address, token, filter, with_headers, is_quiet };
    let live = LiveSource::open(view, Arc::clone(stop))?;
    let name = format!("the server at {address}");
    let (server, missing) = (live.progress(), Arc::default());
    Ok(Source { server, missing, lines: Box::new(live), name, goes_on: true })
}

/// The lines of a log, and the bytes that are missing in a journal.
fn log(args: &TrafficArgs, stop: &Arc<AtomicBool>) -> Result<(LogLines, Arc<AtomicU64>)> {
    let is_over = || {
        let stop = Arc::clone(stop);
        Box::new(move || stop.load(Ordering::Relaxed))
    };
    let start = if args.follow && !args.from_start { Start::Now } else { Start::First };
    let opened = |file: &Path| format!("open `{}`", file.display());
    let lines: LogLines = match args.file.as_deref().filter(|_| !is_stdin(args)) {
        Some(dir) if dir.is_dir() => {
            let follows = args.follow.then(|| is_over() as Box<dyn FnMut() -> bool + Send>);
            let journal = JournalSource::open(dir, start, follows).with_context(|| opened(dir))?;
            let missing = journal.missing();
            return Ok((Box::new(journal), missing));
        }
        None => {
            let stdin = Interruptible::stdin(Arc::clone(stop)).context("read standard input")?;
            Box::new(Unpacked::new(stdin))
        }
        Some(file) if input::is_pipe(file) => {
            let pipe = Interruptible::pipe(file, Arc::clone(stop));
            Box::new(Unpacked::new(pipe.with_context(|| opened(file))?))
        }
        Some(file) if args.follow => {
            let followed = FollowedFile::open(file, start, is_over());
            Box::new(followed.with_context(|| opened(file))?)
        }
        Some(file) => Box::new(Unpacked::new(File::open(file).with_context(|| opened(file))?)),
    };
    Ok((lines, Arc::default()))
}

/// Says what was not shown, and why an option showed nothing.
fn note(watched: &Watched, vlogdump: &VlogdumpOptions, losses: SourceLosses) {
    let SourceLosses { dropped, missing_bytes } = losses;
    if missing_bytes > 0 {
        let missing = counted(missing_bytes, "byte");
        crate::output::tell!("note: {missing} of the journal are not there, or cannot be read");
    }
    if dropped > 0 {
        crate::output::tell!(
            "note: the server dropped {dropped} exchanges, for they were not read in time"
        );
    }
    let unused = watched.counts.to_string();
    if !unused.is_empty() {
        crate::output::tell!("note: {} lines; {unused}", watched.counts.lines);
    }
    if watched.lacks_ends {
        crate::output::tell!("note: {LACKS_ENDS}");
    }
    if !watched.absent.is_empty() && watched.counts.requests > 0 {
        let names = watched.absent.join("`, `");
        crate::output::tell!(
            "note: no exchange has `{names}`, which the filter or the query asks for"
        );
    }
    if let Some(format) = watched.format
        && let Some((option, what)) = vlogdump.unanswered(format)
    {
        crate::output::tell!(
            "note: `{option}` does not work here: a log in the format `{format}` does not say \
             {what}"
        );
    }
}

/// Wrong usage, exit code 2.
fn misused(error: impl Into<Error>) -> Error {
    Misuse(error.into()).into()
}
