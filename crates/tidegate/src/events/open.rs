//! Opens what the configuration names: the lines of a source and its quarantine.
//!
//! Invariant: only a named consumer of the journal holds back its segments; a reader without one
//! may find them gone. Opening reads nothing yet, and errors come with `resume` or a read.
//! `recount` opens quarantines by itself, in the same directory.
//! Never here: sinks, which `sinks::open` makes, and what to read and the names of consumers and
//! quarantines, which each command decides.

use std::path::PathBuf;
use std::sync::Arc;

use pipeline::{
    FileOptions, FileSource, JOURNAL, JournalSource, LineSource, Quarantine, SourcePlan, Status,
};
use stdx::{RealDisk, SystemClock};

use crate::config::Plan;

/// The lines of `source`. With the name of a `consumer` the journal keeps what that has not read
/// yet. Without one it keeps nothing for this reader. Errors call the source `name`.
pub(super) fn line_source(
    plan: &Plan,
    source: &SourcePlan,
    name: &str,
    consumer: Option<&str>,
) -> Box<dyn LineSource> {
    let disk = Arc::new(RealDisk);
    let Some(journal) = plan.journal.as_ref().filter(|_| source.name == JOURNAL) else {
        let options = FileOptions {
            files: source.files.clone(),
            strict: source.strict,
            sync: source.sync,
            idle_timeout: source.idle_timeout,
            moved_from: source.moved_from.clone(),
            time_of: Some(pipeline::time_in(&source.format)),
        };
        return Box::new(FileSource::new(name, options, disk, Arc::new(SystemClock)));
    };
    let dir = journal.options.dir.clone();
    Box::new(match consumer {
        Some(consumer) => JournalSource::new(dir, consumer, disk),
        None => JournalSource::onlooker(dir, disk),
    })
}

/// Where lines of a source go that are refused on the way to a sink.
pub(super) fn quarantine_file(plan: &Plan, source: &str, sink: &str) -> PathBuf {
    plan.events.quarantine_dir.join(format!("{source}-{sink}.ndjson"))
}

/// The quarantine in this file.
pub(super) fn quarantine(plan: &Plan, path: PathBuf, status: &Arc<Status>) -> Quarantine {
    let bytes_max = plan.events.quarantine_bytes_max;
    Quarantine::new(path, Arc::new(RealDisk), bytes_max, Arc::clone(status))
}
