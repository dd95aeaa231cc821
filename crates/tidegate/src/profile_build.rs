//! Says what profiles are built from, starts scheduled builds, and finds the outcome of the last
//! one.
//!
//! `ProfileBuild` joins the configuration with a journal or a sink's query, and runs one build.
//! `schedule` starts builds where `[profiles] every` is set. The record process calls it where
//! there is one, because that process has the drivers, and no reader waits for its answers.
//! Otherwise the edge process does, as `serve.rs` decides.
//! Invariant: None stands for no profiles, nothing to build from or no schedule. `BuildStatus`
//! reads both processes' outcomes alike; null means that nothing is known. It finds `error` and
//! `profiles` by name in `profiles::BuildOutcome`.
//! Never here: when the next build comes (`BuildScheduler`), and how one goes (`profiles`).

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use pipeline::RecordStatus;
use profiles::{
    BuildComparison, BuildScheduler, BuildSummary, LastBuild, Output, ProfilesError, UserKey,
};
use serde_json::{Value, json};

use crate::config::Plan;
use crate::ports::user_key;

/// Everything that a build needs.
pub(crate) struct ProfileBuild {
    profiles: profiles::config::Plan,
    key: UserKey,
    reads: ReadSource,
}

/// Where it is written what users have read.
enum ReadSource {
    Journal(PathBuf),
    Query { url: String, root: PathBuf, text: String },
}

impl ProfileBuild {
    /// What the configuration says; nothing when it has no profiles, or nothing to build them from.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        let profiles = plan.profiles.clone()?;
        let journal = plan.journal.as_ref();
        let key = user_key(journal.and_then(|journal| journal.user_key.as_deref()));
        let reads = match &profiles.query {
            Some(text) => {
                let of_sink = || sinks::query_sink(profiles.sink.as_deref(), &plan.events.sinks);
                let url = match &profiles.database {
                    Some(url) => url.clone(),
                    None => of_sink().ok()?.url.clone(),
                };
                ReadSource::Query { url, root: plan.root.clone(), text: text.clone() }
            }
            None => ReadSource::Journal(journal?.options.dir.clone()),
        };
        Some(Self { profiles, key, reads })
    }

    fn reads_journal(&self) -> bool {
        matches!(self.reads, ReadSource::Journal(_))
    }

    /// Builds the file, or the changes to it. A query always makes a whole file.
    ///
    /// # Errors
    /// When it could not be built; it is then as it was.
    pub(crate) fn run(&self, output: Output) -> Result<BuildSummary, ProfilesError> {
        match &self.reads {
            ReadSource::Journal(dir) => {
                profiles::rebuild_from_journal(dir, &self.profiles, &self.key, output)
            }
            ReadSource::Query { url, root, text } => {
                profiles::rebuild_from_query(&self.profiles, &self.key, |take| {
                    sinks::rows(url, root, text, take)
                })
            }
        }
    }

    /// Compares what is served with a build from the whole journal; none if builds do not read it.
    pub(crate) fn compare(&self) -> Option<Result<BuildComparison, ProfilesError>> {
        let ReadSource::Journal(dir) = &self.reads else { return None };
        Some(profiles::compare_with_whole(dir, &self.profiles, &self.key))
    }
}

/// Starts to build when the configuration names a schedule. Without one the journal forgets how far
/// it was read by builds.
///
/// # Errors
/// When the system has no thread left.
pub(crate) fn schedule(plan: &Plan) -> Result<Option<BuildScheduler>> {
    let build = ProfileBuild::of(plan);
    let scheduled = build.and_then(|build| Some((build.profiles.every?, build)));
    let reads_journal = matches!(&scheduled, Some((_, build)) if build.reads_journal());
    if let (false, Some(journal)) = (reads_journal, &plan.journal) {
        profiles::forget_journal(&journal.options.dir);
    }
    let Some((interval, build)) = scheduled else { return Ok(None) };
    let has_file = build.profiles.file.exists();
    let scheduler = BuildScheduler::start(interval, has_file, move || build.run(Output::Changes));
    scheduler.map(Some).context("start to build profiles")
}

/// The outcome of the last build.
#[derive(Debug, Default)]
pub(crate) enum BuildStatus {
    /// Nothing is built on a schedule.
    #[default]
    Nowhere,
    /// Of this process.
    Here(Arc<LastBuild>),
    /// Of the record process, as that says.
    InRecordProcess(Arc<RecordStatus>),
}

impl BuildStatus {
    /// For `/status`.
    pub(crate) fn status(&self) -> Value {
        match self {
            Self::Nowhere => Value::Null,
            Self::Here(last) => json!(last.outcome()),
            Self::InRecordProcess(record) => record.profile_build(),
        }
    }

    /// What is wrong, if anything is.
    pub(crate) fn alarm(&self) -> Option<String> {
        let status = self.status();
        Some(format!("profile build: {}", status["error"].as_str()?))
    }

    /// Profiles of the last build; none when it failed.
    pub(crate) fn rows(&self) -> Option<u64> {
        self.status()["profiles"].as_u64()
    }
}
