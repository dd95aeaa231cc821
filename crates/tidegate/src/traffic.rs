//! Runs `tidegate traffic`: opens a log, hands it to the crate `traffic`, and says what was not
//! shown.
//!
//! A source is a running server (`traffic/running_server.rs`), a file, the directory of a journal, or
//! standard input; `source` chooses.
//! Invariants: data goes to stdout, notes and the status line to stderr. A reader that leaves ends
//! the watch without a word, and so does a signal, after the total. Nothing is written but by
//! `--save`.
//! Never here: reading and showing exchanges, and saved queries (`traffic/saved.rs`).

mod input;
mod running_server;
mod saved;
mod status;

use std::fs::File;
use std::io::{self, BufReader, BufWriter, ErrorKind, IsTerminal, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::traffic::{
    FollowedFile, Grouping, JournalSource, Limits, OutputFormat, OutputOptions, Query,
    QueryOptions, Start, VlogdumpOptions, WatchError, WatchOptions, Watched,
};
use anyhow::{Context, Error, Result, anyhow};
use exchange::Filter;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::cli::TrafficArgs;
use crate::commands;
use crate::exit::Misuse;
use crate::hint::Hint;
use crate::output;
use input::Interruptible;
use running_server::{LiveSource, LiveView};
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
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second one ends the process as it would have without this.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .context("take signals over")?;
    }
    let needs_headers = vlogdump.asks_for_headers() || args.format == "har";
    let Source { lines, dropped } = source(args, needs_headers, &stop)?;
    let mut status = StatusLine::new();
    let out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
    let watched = ::traffic::watch(lines, out, options, |counts| {
        status.show(counts);
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    drop(status);
    match watched {
        Ok(watched) => {
            note(&watched, &vlogdump, dropped.load(Ordering::Relaxed));
            Ok(())
        }
        // Whoever read has seen enough.
        Err(WatchError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error @ WatchError::Query(_)) => Err(misused(error)),
        Err(error @ WatchError::UnknownFormat { .. }) => Err(Error::new(error).context(NO_FORMAT)),
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
    if grouping == Some(Grouping::Raw) && (filter.is_some() || args.format == "har") {
        return Err(misused(anyhow!(
            "`-g raw` shows records, and filters, vlogdump's options and `har` are of exchanges"
        ))
        .context(ONLY_QUERIES));
    }
    Ok(WatchOptions {
        input_format: args.input_format,
        grouping,
        query,
        filter,
        limits: Limits {
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
    lines: Box<dyn Read>,
    /// Exchanges that a server has dropped, because we did not keep up.
    dropped: Arc<AtomicU64>,
}

fn source(args: &TrafficArgs, needs_headers: bool, stop: &Arc<AtomicBool>) -> Result<Source> {
    let is_named = args.server.admin.is_some() || args.server.config.is_some();
    if !is_named && (args.file.is_some() || !io::stdin().is_terminal()) {
        return Ok(Source { lines: log(args, stop)?, dropped: Arc::default() });
    }
    let (address, token) = commands::listener(&args.server)?;
    // Names that the server does not know are ours alone.
    let filter = args.filter.clone().filter(|filter| !filter.contains("var."));
    let with_headers =
        needs_headers || args.filter.as_ref().is_some_and(|filter| filter.contains("header."));
    let view = LiveView { address, token, filter, with_headers };
    let live = LiveSource::open(view, Arc::clone(stop))?;
    Ok(Source { dropped: live.dropped(), lines: Box::new(live) })
}

fn log(args: &TrafficArgs, stop: &Arc<AtomicBool>) -> Result<Box<dyn Read>> {
    let is_over = || {
        let stop = Arc::clone(stop);
        Box::new(move || stop.load(Ordering::Relaxed))
    };
    let start = if args.follow && !args.from_start { Start::Now } else { Start::First };
    let opened = |file: &Path| format!("open `{}`", file.display());
    Ok(match args.file.as_deref() {
        Some(dir) if dir.is_dir() => {
            let follows = args.follow.then(|| is_over() as Box<dyn FnMut() -> bool>);
            Box::new(JournalSource::open(dir, start, follows).with_context(|| opened(dir))?)
        }
        Some(file) if file == Path::new("-") => Box::new(Interruptible::stdin(Arc::clone(stop))),
        Some(file) if args.follow => {
            let followed = FollowedFile::open(file, start, is_over());
            Box::new(followed.with_context(|| opened(file))?)
        }
        Some(file) => {
            let opened = File::open(file).with_context(|| opened(file))?;
            input::unpacked(BufReader::with_capacity(64 << 10, opened))
                .with_context(|| format!("read `{}`", file.display()))?
        }
        None => Box::new(Interruptible::stdin(Arc::clone(stop))),
    })
}

/// Says what was not shown, and why an option showed nothing.
fn note(watched: &Watched, vlogdump: &VlogdumpOptions, dropped: u64) {
    if dropped > 0 {
        eprintln!("note: the server dropped {dropped} exchanges, for they were not read in time");
    }
    let unused = watched.counts.to_string();
    if !unused.is_empty() {
        eprintln!("note: {} lines; {unused}", watched.counts.lines);
    }
    if watched.lacks_ends {
        eprintln!("note: {LACKS_ENDS}");
    }
    if let Some(format) = watched.format
        && let Some((option, what)) = vlogdump.unanswered(format)
    {
        eprintln!(
            "note: `{option}` does not work here: a log in the format `{format}` does not say \
             {what}"
        );
    }
}

/// Wrong usage, exit code 2.
fn misused(error: impl Into<Error>) -> Error {
    Misuse(error.into()).into()
}
