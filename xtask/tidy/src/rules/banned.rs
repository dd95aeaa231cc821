//! Holds that names and words that we do not use stay out, each with its replacement.
//!
//! There are names of files, texts in code, and marks in comments. A ban of code may hold for
//! product code or for tests only, or leave out directories.
//! Code is searched with comments and literals blanked, so a ban never hits a text about it.
//! Elsewhere: words of identifiers (`rules/words.rs`), names of types (`rules/names.rs`).

use crate::finding::Finding;
use crate::source::{Source, words};

const FILES: [(&str, &str); 5] = [
    ("utils.rs", "name it after what it owns"),
    ("common.rs", "name it after what it owns"),
    ("types.rs", "put each type beside the code that keeps its invariant"),
    ("helpers.rs", "put each function beside its caller, or name the idea they share"),
    ("manager.rs", "say what it does: pool, supervisor, registry"),
];

/// Where a ban holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// Everywhere but in these files or directories.
    AllBut(&'static [&'static str]),
    ProductCode,
    /// Product code but in these directories; a test may print, libtest shows it when it fails.
    ProductCodeBut(&'static [&'static str]),
    Tests,
}

struct Ban {
    what: &'static str,
    holds: Where,
    mend: &'static str,
}

const fn ban(what: &'static str, holds: Where, mend: &'static str) -> Ban {
    Ban { what, holds, mend }
}

const EVERYWHERE: Where = Where::AllBut(&[]);
const TERMINAL: Where = Where::ProductCodeBut(&[
    "crates/tidegate/",
    "xtask/",
    "bench/",
    "fuzz/",
    "soak/",
    "crates/testkit/",
    // What it prints is for cargo.
    "crates/workers/build.rs",
    "crates/tidegate/build.rs",
]);
// Cargo tells a build script where to write by the environment alone.
const ENVIRONMENT: Where = Where::AllBut(&[
    "crates/tidegate/src/environment.rs",
    "crates/tidegate/build.rs",
    "crates/workers/build.rs",
]);

// The umask keeps what is created from others: crates/tidegate/src/umask.rs.
const MODES: Where = Where::ProductCodeBut(&[
    "xtask/",
    "bench/",
    "fuzz/",
    "soak/",
    "crates/testkit/",
    // The configuration names the mode of a socket.
    "crates/statsd/src/receive/",
    // It takes rights away.
    "crates/workers/src/dir.rs",
]);
const UMASK: Where = Where::ProductCodeBut(&["crates/tidegate/src/umask.rs"]);

const CODE: [Ban; 21] = [
    ban("set_permissions(", MODES, "create it; the umask says who may read it (umask.rs)"),
    ban("set_mode(", MODES, "create it; the umask says who may read it (umask.rs)"),
    ban("chmod(", MODES, "create it; the umask says who may read it (umask.rs)"),
    ban("fs::copy(", MODES, "`io::copy` into a new file: a copied mode goes round the umask"),
    ban("umask(", UMASK, "leave it to umask.rs of the program"),
    ban(".unwrap()", Where::ProductCode, "`?`, or `expect(\"the invariant that makes it safe\")`"),
    ban("env::var(", ENVIRONMENT, "pass it in; the environment is read in environment.rs"),
    ban("env::var_os(", ENVIRONMENT, "pass it in; the environment is read in environment.rs"),
    ban("env::vars(", ENVIRONMENT, "pass it in; the environment is read in environment.rs"),
    ban("println!", TERMINAL, "take a writer, or `tracing`"),
    ban("eprintln!", TERMINAL, "`tracing`"),
    ban("print!", TERMINAL, "take a writer"),
    ban("eprint!", TERMINAL, "`tracing`"),
    ban("#[ignore", EVERYWHERE, "make it pass, or delete it"),
    ban("#[should_panic", EVERYWHERE, "return a `Result` and assert on it"),
    ban("#[allow(", EVERYWHERE, "`#[expect(lint, reason = \"…\")]`"),
    ban("#![allow(", EVERYWHERE, "`#![expect(lint, reason = \"…\")]`"),
    ban("thread::sleep", Where::Tests, "wait for the event: a gate, a channel, a `ManualClock`"),
    ban("time::sleep", Where::Tests, "wait for the event: a gate, a channel, a `ManualClock`"),
    ban("todo!", EVERYWHERE, "write it, or leave it out"),
    ban("fn test_", Where::Tests, "name the claim: `recovers_after_torn_tail_record`"),
];

const COMMENTS: [(&str, &str); 3] = [
    ("TODO", "do it, or open an issue and leave no mark"),
    ("FIXME", "mend it, or open an issue and leave no mark"),
    ("XXX", "say what is the matter, or mend it"),
];

pub(super) fn check(sources: &[Source]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        let name = source.path.rsplit('/').next().unwrap_or("");
        for (_, mend) in FILES.iter().filter(|(file, _)| *file == name) {
            let what = format!("`{name}` says nothing");
            findings.push(Finding::at(&source.path, 0, what, *mend));
        }
        for ban in CODE.iter().filter(|ban| source.mentions(ban.what)) {
            findings.extend(check_ban(source, ban));
        }
        for (word, mend) in COMMENTS.iter().filter(|(word, _)| source.mentions(word)) {
            let lines = source.comments.iter().enumerate();
            let found = lines.filter(|(_, comment)| !words(comment, word).is_empty());
            findings
                .extend(found.map(|(index, _)| {
                    Finding::at(&source.path, index, format!("`{word}`"), *mend)
                }));
        }
    }
    findings
}

fn check_ban(source: &Source, ban: &Ban) -> Vec<Finding> {
    let lines = source.code.iter().enumerate();
    let found =
        lines.filter(|(index, code)| has(code, ban.what) && holds(ban.holds, source, *index));
    let finding =
        |(index, _)| Finding::at(&source.path, index, format!("`{}`", ban.what), ban.mend);
    found.map(finding).collect()
}

/// Returns whether the line has `what`, not as the tail of a longer name.
fn has(line: &str, what: &str) -> bool {
    let opens_word = what.starts_with(crate::source::is_word);
    line.match_indices(what).any(|(at, _)| {
        !opens_word || !line[..at].chars().next_back().is_some_and(crate::source::is_word)
    })
}

fn holds(place: Where, source: &Source, index: usize) -> bool {
    match place {
        Where::AllBut(paths) => !paths.iter().any(|path| source.path.starts_with(path)),
        Where::ProductCode => !source.is_test(index),
        Where::ProductCodeBut(paths) => {
            !source.is_test(index) && !paths.iter().any(|path| source.path.starts_with(path))
        }
        Where::Tests => source.is_test(index),
    }
}

#[cfg(test)]
mod tests;
