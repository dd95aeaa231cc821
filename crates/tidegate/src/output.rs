//! Opens the files of results, prints results to stdout, and says how stdout is drawn on.
//!
//! What repeats text of files, clients or other programs goes through `cleaned`: errors (`main.rs`),
//! notes, and what inspecting commands print. Tables and wrapped text are cleaned by `screen`, the
//! log by `log.rs`, and JSON is left to its own escapes.
//!
//! `load`, `probe` and `bench` open files before they measure, so that nothing measured is lost. An
//! existing file is emptied then, and keeps its mode. `report` opens its file only to write it. In
//! which order files are opened, each verb decides.
//! Invariant: a reader of stdout that leaves early, such as `head`, is no error. The width is
//! `COLUMNS`, even where stdout is no terminal. Without it the terminal says, else it is 80. Where
//! stdout is no terminal it is 100, or as much as a table of data takes. Only a terminal gets
//! colours, and none with `NO_COLOR` or `TERM=dumb`; a command's option comes before that.
//! `environment.rs` reads these variables.
//! Never here: what a result says, and progress on stderr.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use screen::Style;

/// Of files that are created: what is measured may name users and addresses.
const MODE: u32 = 0o640;

/// Creates a file for a result.
///
/// # Errors
/// When it cannot be written; called before the measurement, so that nothing measured is lost.
pub(crate) fn create(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(MODE).open(path);
    opened.with_context(|| format!("write `{}`", path.display()))
}

/// Prints a result. A closed pipe is no error: its reader has enough, as `head` does.
///
/// # Errors
/// When stdout cannot be written for another reason.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("print the result"),
    }
}

/// Prints lines for people, cleaned.
///
/// # Errors
/// As [`print`].
pub(crate) fn print_cleaned(text: &str) -> Result<()> {
    print(&cleaned(text))
}

/// Text of several lines with its control characters shown as `?`, but for line feeds and tabs. So
/// nothing in it can move the cursor or set the title of a terminal.
pub(crate) fn cleaned(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(screen::clean).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// How stdout is drawn on.
pub(crate) fn style() -> Style {
    style_or(100)
}

/// How tables of data are drawn on stdout: as wide as they are, where it is no terminal.
pub(crate) fn whole_style() -> Style {
    style_or(usize::MAX)
}

/// How stdout is drawn on, with so many columns where nothing says how many it has.
fn style_or(elsewhere: usize) -> Style {
    let out = io::stdout();
    let is_terminal = out.is_terminal();
    let size = rustix::termios::tcgetwinsize(&out).ok().map(|size| usize::from(size.ws_col));
    let size = size.filter(|columns| *columns > 0);
    let columns = crate::environment::columns().or(size);
    Style {
        width: columns.unwrap_or(if is_terminal { 80 } else { elsewhere }),
        colour: is_terminal && !crate::environment::has_no_colour(),
        ascii: false,
    }
}
