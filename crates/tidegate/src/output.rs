//! Opens the files of results, prints results to stdout, and says how stdout is drawn on.
//!
//! What repeats text of files, clients or other programs goes through `cleaned`: errors, notes,
//! and what inspecting commands print. Tables and wrapped text are cleaned by `screen`, the log by
//! `log.rs`, and JSON is left to its own escapes.
//!
//! `load`, `probe` and `bench` open files before they measure, so that nothing measured is lost. An
//! existing file is emptied then, and keeps its mode. `report` opens its file only to write it. In
//! which order files are opened, each verb decides.
//! What is written at once appears by one rename (`replace`), so that a link is replaced.
//! Invariant: no link is followed, and no fifo waited for: another user may have put them there.
//! What the system has in `/dev`, such as `/dev/stdout`, is never replaced.
//! Invariant: a reader of stdout that leaves early, such as `head`, is no error. The width is
//! `COLUMNS`, even where stdout is no terminal. Without it the terminal says, else it is 80. Where
//! stdout is no terminal it is 100, or as much as a table of data takes. Only a terminal gets
//! colours, and none with `NO_COLOR` or `TERM=dumb`; a command's option comes before that.
//! `environment.rs` reads these variables.
//! Never here: what a result says, and progress on stderr.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use screen::Style;
use stdx::plain_file;

/// How a file of SQLite begins.
const DATABASE: &[u8; 16] = b"SQLite format 3\0";
/// Of files that are created: what is measured may name users and addresses.
const MODE: u32 = 0o640;

/// Creates a file for a result.
///
/// # Errors
/// When it cannot be written, also because it is a link or no regular file. Called before the
/// measurement, so that nothing measured is lost.
pub(crate) fn create(path: &Path) -> Result<File> {
    expect_no_database(path)?;
    let opened = match OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
        Err(_) if is_of_system(path) => OpenOptions::new().write(true).open(path),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path);
            match found.is_ok_and(|found| found.is_symlink()) {
                true => Err(io::Error::other("it is a link; name the file behind it")),
                false => plain_file::create(path),
            }
        }
        opened => opened,
    };
    opened.with_context(|| format!("write `{}`", path.display()))
}

/// Writes a result at once: replaces a file, or writes to what the system has in `/dev`.
///
/// # Errors
/// As [`replace`].
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if !is_of_system(path) {
        return replace(path, text);
    }
    let written = create(path)?.write_all(text.as_bytes());
    written.with_context(|| format!("write `{}`", path.display()))
}

/// Puts a file in a place, whole or not at all: a file or a link that is there is replaced. It is
/// no wider than a file that was there; in place of a link it is new.
///
/// # Errors
/// As [`expect_replaceable`], and when it cannot be written; what was there is then as it was.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    let mode = expect_replaceable(path)?.unwrap_or(MODE);
    let begun = draft(path, mode);
    let (mut file, draft) = begun.with_context(|| format!("write beside `{}`", path.display()))?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // The error above says more than that of a clean-up.
        let _ = fs::remove_file(&draft);
    }
    written.with_context(|| format!("write `{}`", path.display()))
}

/// Looks whether a file may be put in a place, and returns the permissions of one that is there.
///
/// # Errors
/// When something else is there, or behind a link: a directory, a fifo, a device.
pub(crate) fn expect_replaceable(path: &Path) -> Result<Option<u32>> {
    let refused = || format!("write `{}`: it is no regular file", path.display());
    anyhow::ensure!(!is_of_system(path), refused());
    expect_no_database(path)?;
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.with_context(|| format!("write `{}`", path.display()))?,
    };
    if found.is_symlink() {
        // One that leads nowhere may go, too.
        let behind = fs::metadata(path);
        anyhow::ensure!(behind.is_ok_and(|it| it.is_file()) || !path.exists(), refused());
        return Ok(None);
    }
    anyhow::ensure!(found.is_file(), refused());
    Ok(Some(found.permissions().mode() & 0o777))
}

/// Looks that a file is no database of SQLite, such as that of `lab watch`: nights are in it, and
/// no result is one.
///
/// # Errors
/// When it is one.
fn expect_no_database(path: &Path) -> Result<()> {
    let mut head = [0; DATABASE.len()];
    let is_plain = fs::metadata(path).is_ok_and(|found| found.is_file());
    let is_read = is_plain && File::open(path).is_ok_and(|mut it| it.read_exact(&mut head).is_ok());
    let shown = path.display();
    anyhow::ensure!(
        !is_read || head != *DATABASE,
        "write `{shown}`: it is a database; name a file"
    );
    Ok(())
}

/// Makes a file beside another, under a name that nothing has.
fn draft(path: &Path, mode: u32) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 0_u64;
    loop {
        let draft = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&draft) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            opened => return opened.map(|file| (file, draft)),
        }
    }
}

/// Whether the system has made it: its devices, and links to what a process has open.
fn is_of_system(path: &Path) -> bool {
    let dir = path.parent();
    dir == Some(Path::new("/dev")) || dir == Some(Path::new("/dev/fd"))
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

/// Prints a line on stderr, and `tell_on` a part of one. Where nobody reads it, it is lost: a
/// message never ends a command, as `eprintln` would.
macro_rules! tell {
    ($($words:tt)*) => {
        $crate::output::to_stderr(&format!("{}\n", format_args!($($words)*)))
    };
}
macro_rules! tell_on {
    ($($words:tt)*) => { $crate::output::to_stderr(&format!($($words)*)) };
}
pub(crate) use {tell, tell_on};

/// What the two write by.
pub(crate) fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
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
    style_or(&io::stdout(), 100)
}

/// How lines that are drawn anew are drawn on stderr, where it is a terminal.
pub(crate) fn live_style() -> Style {
    Style { colour: false, ..style_or(&io::stderr(), 80) }
}

/// How tables of data are drawn on stdout: as wide as they are, where it is no terminal.
pub(crate) fn whole_style() -> Style {
    style_or(&io::stdout(), usize::MAX)
}

/// How `out` is drawn on, with so many columns where nothing says how many it has.
fn style_or(out: &(impl IsTerminal + AsFd), elsewhere: usize) -> Style {
    let is_terminal = out.is_terminal();
    let size = rustix::termios::tcgetwinsize(out).ok().map(|size| usize::from(size.ws_col));
    let size = size.filter(|columns| *columns > 0);
    let columns = crate::environment::columns().or(size);
    Style {
        width: columns.unwrap_or(if is_terminal { 80 } else { elsewhere }),
        colour: is_terminal && !crate::environment::has_no_colour(),
        ascii: false,
    }
}
