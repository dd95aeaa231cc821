//! Runs `tidegate events inspect`: prints what each line of a file or of stdin becomes, as JSON.
//!
//! The function `source` finds the source of a name, or the only one there is, also for other
//! commands.
//! Invariant: nothing is delivered, and nothing is noted anywhere. Each line gives one object, also
//! a refused one.
//! Unlike a delivery, it unpacks a packed file only to propose its format, and the length of a line
//! has no bound. What a line becomes is the business of `pipeline::Inspector`.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use pipeline::{Inspector, SourcePlan};

use crate::cli::InspectArgs;
use crate::commands;
use crate::config::Plan;

/// How much is read to propose a format.
const GUESS_BYTES: u64 = 256 << 10;

/// Prints one JSON object a line, or a proposed format.
///
/// # Errors
/// When the source is not clear, or the lines cannot be read.
pub(super) fn command(args: &InspectArgs) -> Result<()> {
    if args.guess {
        return guess(args);
    }
    let plan = commands::load(&args.config.config)?;
    let source = source(&plan, args.source.as_deref())?;
    let rollups = plan.events.rollups.iter();
    let rollups = rollups.filter(|rollup| rollup.counts(&source.name));
    let rollups = rollups.map(|rollup| rollup.rollup.clone()).collect();
    let fields = plan.events.fields_of(&source.name);
    let mut inspector = Inspector::new(&source.format, fields, rollups);
    let mut input = input(args)?;
    let name = args.file.as_deref().unwrap_or(Path::new("-")).display();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).with_context(|| format!("read `{name}`"))? == 0 {
            break;
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        match writeln!(out, "{}", inspector.show(&line)) {
            // Whoever read has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written.context("write what they become")?,
        }
    }
    Ok(out.flush()?)
}

/// Prints the section of a source in the format that the first lines have.
///
/// # Errors
/// When none fits, or the lines cannot be read.
fn guess(args: &InspectArgs) -> Result<()> {
    let file = args.file.as_deref().unwrap_or(Path::new("-"));
    let mut text = Vec::new();
    let mut lines = unpacked(input(args)?)?.take(GUESS_BYTES);
    lines.read_to_end(&mut text).with_context(|| format!("read `{}`", file.display()))?;
    if !text.ends_with(b"\n") && (text.len() as u64) < GUESS_BYTES {
        text.push(b'\n');
    }
    let Some(guess) = pipeline::guess_format(&text) else {
        let count = text.iter().filter(|byte| **byte == b'\n').count();
        bail!(
            "no format reads half of the first {count} lines of `{}`\nhint: write them as a \
             `log_format` of nginx, or name `keys` of JSON and logfmt \
             (docs/operating/log-formats.md)",
            file.display()
        );
    };
    // A packed file is a rotated one of the log without the ending.
    let is_packed = file.extension().is_some_and(|end| end == "gz" || end == "zst");
    let file = if is_packed { &file.with_extension("") } else { file };
    let stem = file.file_stem().map_or("log".into(), |stem| stem.to_string_lossy());
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = stem.chars().map(letter).collect();
    let name = Some(name.trim_matches('-')).filter(|name| !name.is_empty()).unwrap_or("log");
    let path = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let files = toml::Value::String(format!("{}*", path.display()));
    let mut out = std::io::stdout().lock();
    writeln!(out, "# reads {} of the first {} lines", guess.read, guess.lines)?;
    if guess.longer > 0 {
        let tail = screen::clean(&guess.tail);
        let tail = if tail.is_empty() { String::new() } else { format!(": {tail}") };
        writeln!(out, "# {} of {} lines go on behind it{tail}", guess.longer, guess.read)?;
    }
    writeln!(out, "[[source]]\nname = \"{name}\"\nfiles = [{files}]")?;
    writeln!(out, "format = \"{}\"", guess.format)?;
    if let Some(wrapper) = guess.wrapper {
        writeln!(out, "wrapper = \"{wrapper}\"")?;
    }
    Ok(out.flush()?)
}

/// What a packed file has inside; any other as it is.
fn unpacked(mut input: Box<dyn BufRead>) -> Result<Box<dyn Read>> {
    Ok(match input.fill_buf().context("read the beginning")? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(input)?),
        _ => Box::new(input),
    })
}

fn input(args: &InspectArgs) -> Result<Box<dyn BufRead>> {
    Ok(match args.file.as_deref() {
        Some(file) if file != Path::new("-") => {
            let opened = File::open(file).with_context(|| format!("open `{}`", file.display()))?;
            Box::new(BufReader::new(opened))
        }
        _ => Box::new(std::io::stdin().lock()),
    })
}

/// The source of a name; the one there is without a name.
///
/// # Errors
/// When there is none, or it is not clear which.
pub(super) fn source<'p>(plan: &'p Plan, name: Option<&str>) -> Result<&'p SourcePlan> {
    let sources = plan.events.sources.as_slice();
    let names = || sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ");
    match (name, sources) {
        (Some(name), _) => sources
            .iter()
            .find(|source| source.name == name)
            .with_context(|| format!("no source `{name}`; there are: {}", names())),
        (None, [only]) => Ok(only),
        (None, []) => bail!("the configuration has no [[source]] and no [journal]"),
        (None, _) => bail!("say which source with `--source`: {}", names()),
    }
}
