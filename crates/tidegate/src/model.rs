//! Runs `tidegate model …`: inspects a model, scores with it, embeds or groups texts, without a
//! server.
//!
//! It opens files or stdin, shows progress, and hands both to `serving`, which has the work and the
//! formats. Vectors and predictions go to stdout as they are made.
//! Invariant: ranking and grouping print what a server answers for the same input. Vectors and
//! predictions have a line each, in the forms of `serving`. Of stdin no length is known, so the bar
//! shows no end.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use anyhow::{Context, Result};
use models::Precision;
use serving::{ClusterOptions, Grouping, LinesDone, ModelDir};

use crate::cli::{GroupingArg, LinesArgs, ModelCommand, PrecisionArg};
use crate::output;
use crate::progress::Progress;

/// Runs a command.
///
/// # Errors
/// What is wrong with the model, or with what it is given.
pub(crate) fn run(command: ModelCommand) -> Result<()> {
    match command {
        ModelCommand::Inspect { file, items } => {
            let inspection = serving::inspect(&file, items.as_deref())?;
            output::print_cleaned(&format!("{inspection}\n"))
        }
        ModelCommand::Score { file, items: Some(items), .. } => rank(&file, &items),
        ModelCommand::Score { file, rows, .. } => score(&file, rows.as_deref()),
        ModelCommand::Embed(lines) => embed(&lines),
        ModelCommand::Cluster { lines, method, similarity_min, members_min } => {
            let method = method.map(|method| match method {
                GroupingArg::Linkage => Grouping::Linkage,
                GroupingArg::Communities => Grouping::Communities,
            });
            cluster(&lines, ClusterOptions { method, similarity_min, members_min })
        }
    }
}

fn rank(file: &Path, items: &Path) -> Result<()> {
    let mut body = Vec::new();
    io::stdin().read_to_end(&mut body).context("read the request from stdin")?;
    let answer = serving::score(file, items, &body)?;
    io::stdout().write_all(&answer)?;
    println!();
    Ok(())
}

fn score(file: &Path, rows: Option<&Path>) -> Result<()> {
    let (table, bytes) = open(rows)?;
    let progress = Progress::new("scored");
    let out = io::BufWriter::new(io::stdout().lock());
    Ok(serving::score_table(file, table, out, |at| progress.set(at, bytes))?)
}

fn embed(lines: &LinesArgs) -> Result<()> {
    let (texts, bytes) = open(lines.texts.as_deref())?;
    let progress = Progress::new("embedded");
    let out = io::BufWriter::new(io::stdout().lock());
    let report = |done: LinesDone| progress.set(done.bytes as u64, bytes);
    serving::embed_lines(model(lines), texts, out, report)?;
    Ok(())
}

fn cluster(lines: &LinesArgs, options: ClusterOptions) -> Result<()> {
    let (texts, bytes) = open(lines.texts.as_deref())?;
    let progress = Progress::new("embedded");
    let out = io::BufWriter::new(io::stdout().lock());
    let report = |done: LinesDone| progress.set(done.bytes as u64, bytes);
    serving::cluster_lines(model(lines), options, texts, out, report)?;
    Ok(())
}

/// Opens a file, or stdin, whose length nobody knows.
fn open(path: Option<&Path>) -> Result<(Box<dyn BufRead>, u64)> {
    let Some(path) = path else { return Ok((Box::new(BufReader::new(io::stdin())), 0)) };
    let file = File::open(path).with_context(|| format!("open `{}`", path.display()))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    Ok((Box::new(BufReader::new(file)), bytes))
}

fn model(lines: &LinesArgs) -> ModelDir<'_> {
    let precision = match lines.precision {
        PrecisionArg::F32 => Precision::Single,
        PrecisionArg::Bf16 => Precision::Bf16,
        PrecisionArg::Int8 => Precision::Int8,
    };
    ModelDir { path: &lines.dir, precision }
}
