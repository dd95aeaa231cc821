//! Judges an answer of a model: one version that could answer must explain all of it.
//!
//! [`VersionLog`] notes when each version of a model could answer. That is from just before its
//! file is written, until the server shows that another one has taken its place. A request may be
//! answered by each version whose time overlaps the request's.
//!
//! Invariant: a version is possible no shorter than it really is, so the judge blames nobody
//! wrongly. An answer that mixes versions fits none of them.
//! Refuses: sockets, files, and to know how a model computes; callers bring what is expected.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// No request takes longer: what ended before is forgotten.
const LONG: Duration = Duration::from_secs(180);

/// Which version could answer when.
#[derive(Debug, Default)]
pub(super) struct VersionLog(Mutex<Vec<Span>>);

/// The time of a version; none stands for an unloaded model.
#[derive(Debug, Clone, Copy)]
struct Span {
    version: Option<usize>,
    from: Instant,
    /// None while it lasts.
    end: Option<Instant>,
}

/// What a model answered.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// As the model calls its version; none where the protocol does not name it.
    pub version: Option<String>,
    /// All numbers, row by row.
    pub numbers: Vec<f64>,
}

impl VersionLog {
    /// From now on a version may answer, beside those that may already.
    pub(super) fn begin(&self, version: Option<usize>) {
        let from = Instant::now();
        let mut spans = self.spans();
        spans.retain(|span| span.end.is_none_or(|end| end.elapsed() < LONG));
        spans.push(Span { version, from, end: None });
    }

    /// The server shows this version: the others have ended.
    pub(super) fn only(&self, version: Option<usize>) {
        let now = Instant::now();
        let mut spans = self.spans();
        let open = spans.iter_mut().filter(|span| span.end.is_none() && span.version != version);
        open.for_each(|span| span.end = Some(now));
    }

    /// The versions that could answer a request from `begun` to `ended`, each once.
    pub(super) fn possible(&self, begun: Instant, ended: Instant) -> Vec<Option<usize>> {
        let spans = self.spans();
        let fits = |span: &&Span| span.from <= ended && span.end.is_none_or(|end| end >= begun);
        let mut versions: Vec<_> = spans.iter().filter(fits).map(|span| span.version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    fn spans(&self) -> MutexGuard<'_, Vec<Span>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds the version that an answer is of; `names` are what the versions are called.
///
/// # Errors
/// What is wrong with it.
pub(super) fn judged(
    answer: &Answer,
    possible: &[Option<usize>],
    names: &[String],
    expected: impl Fn(usize) -> Vec<f64>,
) -> Result<usize, String> {
    let right = |version: &usize| {
        let is_named = answer.version.as_ref().is_none_or(|name| *name == names[*version]);
        is_named && same(&answer.numbers, &expected(*version))
    };
    if let Some(version) = possible.iter().flatten().copied().find(|version| right(version)) {
        return Ok(version);
    }
    let reason = match (0..names.len()).find(right) {
        Some(version) => format!("version {version}, which could not answer then"),
        None => format!("no version's numbers{}", first_difference(answer, possible, expected)),
    };
    Err(format!("{reason}; named {:?}, possible {possible:?}", answer.version))
}

/// Whether numbers are the same to the bit; any NaN is as good as another.
fn same(left: &[f64], right: &[f64]) -> bool {
    left.len() == right.len() && left.iter().zip(right).all(|(left, right)| alike(*left, *right))
}

fn alike(left: f64, right: f64) -> bool {
    left == right || (left.is_nan() && right.is_nan())
}

/// Where an answer leaves the first version that it could be of.
fn first_difference(
    answer: &Answer,
    possible: &[Option<usize>],
    expected: impl Fn(usize) -> Vec<f64>,
) -> String {
    let Some(version) = possible.iter().flatten().next() else { return String::new() };
    let (found, due) = (&answer.numbers, expected(*version));
    let place = found.iter().zip(&due).position(|(found, due)| !alike(*found, *due));
    match place {
        Some(at) => format!(": [{at}] is {}, {} in version {version}", found[at], due[at]),
        None => format!(": {} of them, {} were due", found.len(), due.len()),
    }
}

#[cfg(test)]
mod tests;
