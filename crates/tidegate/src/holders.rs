//! Lists the files and directories that hold ids, addresses, answers or profiles, for whoever looks
//! at their modes (`umask.rs`).
//!
//! Invariant: a directory stands for what is in it. What lies in another process, such as a
//! database server, is not listed; nor are files that others write and Tidegate only reads.
//! A new place for such data needs a line here. Nothing is opened, and a path may be absent.
//! Never here: the sockets and the program of Python workers, whose directory is for one user alone
//! (`workers/src/dir.rs`).

use std::path::PathBuf;

use crate::config::Plan;

/// The files and directories that a configuration has written and that hold ids, addresses, answers
/// or profiles.
pub(crate) fn of(plan: &Plan) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    paths.push(plan.audit.dir.clone());
    paths.extend(plan.journal.as_ref().map(|journal| journal.options.dir.clone()));
    paths.extend(plan.gateway.store.disk.as_ref().map(|disk| disk.dir.clone()));
    paths.extend(plan.profiles.as_ref().map(|profiles| profiles.file.clone()));
    if !plan.events.sinks.is_empty() {
        paths.push(plan.events.quarantine_dir.clone());
        paths.extend([plan.binlog(), plan.losses()]);
        let sinks = plan.events.sinks.iter();
        paths.extend(sinks.filter_map(|sink| sinks::local_path(&sink.url, &plan.root)));
    }
    paths.extend(plan.statsd.iter().flat_map(of_statsd));
    paths
}

/// The same of a statsd server.
pub(crate) fn of_statsd(plan: &statsd::plan::Plan) -> Vec<PathBuf> {
    let files = plan.backends.iter().filter_map(|backend| match backend {
        statsd::plan::BackendPlan::File(file) => Some(file.clone()),
        _ => None,
    });
    let spool = plan.spool.as_ref().map(|(dir, _)| dir.clone());
    files.chain(spool).chain(plan.snapshot.clone()).collect()
}
