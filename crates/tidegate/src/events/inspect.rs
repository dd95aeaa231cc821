//! Runs `tidegate events inspect`: prints what each line of a file or of stdin becomes, as JSON.
//!
//! The function `source` finds the source of a name, or the only one there is, also for other
//! commands.
//! Invariant: nothing is delivered, and nothing is noted anywhere. Each line gives one object, also
//! a refused one.
//! Unlike a delivery, it does not unpack a packed file, and the length of a line has no bound. What
//! a line becomes is the business of `pipeline::Inspector`.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use pipeline::{Inspector, SourcePlan};

use crate::cli::InspectArgs;
use crate::commands;
use crate::config::Plan;

/// Prints one JSON object a line.
///
/// # Errors
/// When the source is not clear, or the lines cannot be read.
pub(super) fn command(args: &InspectArgs) -> Result<()> {
    let plan = commands::load(&args.config.config)?;
    let source = source(&plan, args.source.as_deref())?;
    let rollups = plan.events.rollups.iter();
    let rollups = rollups.filter(|rollup| rollup.counts(&source.name));
    let rollups = rollups.map(|rollup| rollup.rollup.clone()).collect();
    let fields = plan.events.fields_of(&source.name);
    let mut inspector = Inspector::new(&source.format, fields, rollups);
    let mut input: Box<dyn BufRead> = match args.file.as_deref() {
        Some(file) if file != Path::new("-") => {
            let opened = File::open(file).with_context(|| format!("open `{}`", file.display()))?;
            Box::new(BufReader::new(opened))
        }
        _ => Box::new(std::io::stdin().lock()),
    };
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
