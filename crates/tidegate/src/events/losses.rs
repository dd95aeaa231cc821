//! Runs `tidegate events losses`: lists what was lost of the logs, and acknowledges it.
//!
//! A loss that is not acknowledged is an alarm on `/status`. No process need run for either.
//! Invariant: acknowledging says what it acknowledged; an id that names no open loss is an error,
//! and then nothing is acknowledged. Never here: finding losses, and their file (`pipeline`).

use std::path::Path;

use anyhow::{Context, Result, bail};
use pipeline::{LogLoss, LossBook, OpenLosses};

use crate::commands;
use crate::output;

/// The word that acknowledges every loss.
const ALL: &str = "all";

/// Lists the losses that are open, or acknowledges those with these ids.
///
/// # Errors
/// When the file of losses cannot be read or written, and for an id that names no open loss.
pub(super) fn command(file: &Path, acknowledge: &[String]) -> Result<()> {
    let plan = commands::load(file)?;
    let book = LossBook::new(&plan.losses());
    let found = book.open();
    let open = &found.losses;
    let is_all = acknowledge.iter().any(|id| id == ALL);
    let is_open = |id: &&String| open.iter().any(|loss| loss.id == **id);
    if let Some(unknown) = acknowledge.iter().find(|id| !is_all && !is_open(id)) {
        bail!("no open loss has the id `{unknown}`; `tidegate events losses` lists them");
    }
    if acknowledge.is_empty() {
        output::print_cleaned(&open.iter().map(text).collect::<String>())?;
        match (open.is_empty(), found.has_file) {
            _ if !found.is_whole() => {}
            (false, _) => {}
            (true, true) => println!("all losses are acknowledged"),
            (true, false) => {
                println!("no loss is noted: there is no `{}`", plan.losses().display())
            }
        }
        return expect_whole(&found, &book);
    }
    let ids = (!is_all).then_some(acknowledge);
    let done = book.acknowledge(ids);
    let done = done.with_context(|| format!("acknowledge in `{}`", plan.losses().display()))?;
    let acknowledged = |loss: &LogLoss| format!("acknowledged {}: {}\n", loss.id, loss.what);
    output::print_cleaned(&done.iter().map(acknowledged).collect::<String>())?;
    if done.is_empty() {
        println!("no loss is open");
    }
    expect_whole(&found, &book)
}

fn expect_whole(found: &OpenLosses, book: &LossBook) -> Result<()> {
    let doubts = doubts(found, book.path());
    anyhow::ensure!(doubts.is_empty(), doubts.join("\n"));
    Ok(())
}

/// What `/status` says of the losses that are open.
pub(crate) fn alarms(book: &LossBook) -> Vec<String> {
    let found = book.open();
    found.losses.iter().map(alarm).chain(doubts(&found, book.path())).collect()
}

/// Why there may be other losses than those that were found.
fn doubts(found: &OpenLosses, file: &Path) -> Vec<String> {
    let file = file.display();
    let broken = (found.broken_lines > 0).then(|| {
        let lines = commands::counted(found.broken_lines as u64, "line");
        format!(
            "{lines} of `{file}` cannot be read as losses: mend or remove them once you know what \
             was lost"
        )
    });
    let problem = found.problem.as_ref().map(|problem| {
        format!("`{file}` may lack losses that were found, also after a restart: {problem}")
    });
    broken.into_iter().chain(problem).collect()
}

fn alarm(loss: &LogLoss) -> String {
    let LogLoss { source, sink, what, id, .. } = loss;
    format!("{source} to {sink}: {what}. To end this alarm: tidegate events losses --ack {id}")
}

fn text(loss: &LogLoss) -> String {
    let mut time = Vec::new();
    exchange::write_rfc3339(loss.time_us, &mut time);
    let bytes = match loss.bytes {
        Some(bytes) => format!("{bytes} bytes that were not read are lost"),
        None => "how many bytes are lost is not known".to_owned(),
    };
    let LogLoss { id, node, source, sink, what, .. } = loss;
    let time = String::from_utf8_lossy(&time);
    format!("{id}  {time}  {source} to {sink} on {node}\n  {what}\n  {bytes}\n")
}
