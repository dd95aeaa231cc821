//! The programs of row `events`: what each reads, and where each puts what it counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::lines::{self, Kind};
use crate::setup::Setup;

/// Ours on `combined`: what the others are compared with.
pub(super) const COMBINED: &str = "Tidegate, combined";
/// The same on a fifth of the lines.
pub(super) const FIFTH: &str = "Tidegate, combined, a fifth";
/// Ours on its own journal.
pub(super) const JOURNAL: &str = "Tidegate, own journal";
/// Ours with a row a line.
pub(super) const RAW: &str = "Tidegate, raw";

/// A program with a file to read.
pub(super) struct Contender {
    /// Its name in the tables.
    pub name: &'static str,
    /// The lines of its file.
    pub lines: u64,
    /// Where it puts what it counted.
    pub result: ResultSource,
    /// Makes its words, for a folder of its own.
    pub command: Make,
}

/// Where a program puts the number of lines it counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum ResultSource {
    /// On stdout.
    Printed,
    /// In `events.db`, asked by this expression over table `reads`.
    Delivered(&'static str),
    /// Not at all.
    Unsaid,
}

/// Makes the words of a command for a folder of its own.
pub(super) type Make = Box<dyn Fn(&Path) -> Result<Vec<String>>>;

/// All of them; `all` lines are in the file that most of them read.
pub(super) fn contenders(setup: &Setup, all: u64) -> Result<Vec<Contender>> {
    let mut contenders = ours(setup, all)?;
    contenders.extend(services(setup, all)?);
    contenders.extend(tools(setup, all)?);
    Ok(contenders)
}

/// The record process, which delivers exactly once into SQLite every second.
fn ours(setup: &Setup, all: u64) -> Result<Vec<Contender>> {
    const BY: &str = "by = [\"path\", \"minute\"]";
    let cases = [
        (COMBINED, Kind::Combined, all, BY),
        (FIFTH, Kind::Combined, all / 5, BY),
        (JOURNAL, Kind::Journal, all, BY),
        (RAW, Kind::Combined, all / 5, "raw = true"),
    ];
    let program = setup.tidegate()?.display().to_string();
    let contender = |(name, kind, lines, what): (&'static str, Kind, u64, &'static str)| {
        let (program, log) = (program.clone(), log(setup, kind, lines)?);
        let command = move |dir: &Path| {
            let config = dir.join("tidegate.toml");
            fs::write(&config, configuration(&log, kind, what))?;
            let words = [&program, "events", "run", "--once", "-c"].map(str::to_owned);
            Ok([&words[..], &[config.display().to_string()]].concat())
        };
        let result = ResultSource::Delivered(if name == RAW { "count(*)" } else { "sum(count)" });
        Ok(Contender { name, lines, result, command: Box::new(command) })
    };
    cases.into_iter().map(contender).collect()
}

fn configuration(log: &Path, kind: Kind, what: &str) -> String {
    let format = if kind == Kind::Combined { "combined" } else { "tidegate" };
    format!(
        "[[source]]\nname = \"log\"\nfiles = [\"{}\"]\nformat = \"{format}\"\n\n\
         [[rollup]]\nname = \"reads\"\n{what}\n\n\
         [[sink]]\nname = \"main\"\nurl = \"sqlite:events.db\"\nflush = \"1s\"\n",
        log.display()
    )
}

/// What a Python team would run: the Logbunker's two processes, an insert for each event, DuckDB.
fn services(setup: &Setup, all: u64) -> Result<Vec<Contender>> {
    let python = setup.python()?;
    let log = |lines| log(setup, Kind::Combined, lines);
    let script = |name: &str| setup.root().join("bench/peers").join(name).display().to_string();
    let contender = |name, lines, program: Vec<String>, log: PathBuf| {
        let words = [vec![python.display().to_string()], program].concat();
        let command = move |dir: &Path| {
            let files = [log.as_path(), dir].map(|path| path.display().to_string());
            Ok([&words[..], &files[..]].concat())
        };
        Contender { name, lines, result: ResultSource::Printed, command: Box::new(command) }
    };
    const FEW: u64 = 10_000;
    Ok(vec![
        contender("CPython Logbunker", all, vec![script("logbunker.py")], log(all)?),
        contender("Cython Logbunker", all, cython(setup, &python)?, log(all)?),
        contender("one insert per event", FEW, vec![script("insert_each.py")], log(FEW)?),
        contender("DuckDB", all, vec![script("duck.py")], log(all)?),
    ])
}

/// Compiles the Logbunker; returns the words that run it.
fn cython(setup: &Setup, python: &Path) -> Result<Vec<String>> {
    let dir = setup.dir("cython")?;
    for name in ["logbunker.py", "logbunker.pxd"] {
        fs::copy(setup.root().join("bench/peers").join(name), dir.join(name))?;
    }
    let compile = ["-m", "Cython.Build.Cythonize", "--inplace", "-3", "logbunker.py"];
    let output = Command::new(python).args(compile).current_dir(&dir).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "compile the Cython Logbunker: {}\n{stderr}", output.status);
    // Without its source Python takes what was compiled, or nothing.
    fs::remove_file(dir.join("logbunker.py")).context("remove `logbunker.py`")?;
    let program = format!(
        "import sys; sys.path.insert(0, {:?}); import logbunker; logbunker.main(*sys.argv[1:])",
        dir.display().to_string()
    );
    Ok(vec!["-c".to_owned(), program])
}

/// Programs that count once, and the ceiling.
fn tools(setup: &Setup, all: u64) -> Result<Vec<Contender>> {
    const SOME: u64 = 210_000;
    let scanner = std::env::current_exe()?.display().to_string();
    let [all_log, some_log] = [log(setup, Kind::Combined, all)?, log(setup, Kind::Combined, SOME)?]
        .map(|log| log.display().to_string());
    let contender = |name, lines, result, words: &[&str]| {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Contender { name, lines, result, command: Box::new(move |_| Ok(words.clone())) }
    };
    let report = ["goaccess", "--log-format=COMBINED", "--no-progress", "-o", "goaccess.json"];
    Ok(vec![
        contender("mawk", all, ResultSource::Printed, &["mawk", MAWK, &all_log]),
        contender("GoAccess", SOME, ResultSource::Unsaid, &[&report[..], &[&some_log]].concat()),
        contender("bare scanner", all, ResultSource::Printed, &[&scanner, "--scan", &all_log]),
    ])
}

const MAWK: &str = "{ split($7, target, \"?\"); counts[target[1], substr($4, 2, 17)]++ } \
    END { for (key in counts) sum += counts[key]; print sum }";

/// A log, made when it is not there yet.
fn log(setup: &Setup, kind: Kind, count: u64) -> Result<PathBuf> {
    let path = setup.cached(&format!("events-{kind:?}-{count}.log").to_lowercase())?;
    lines::write(&path, kind, count)?;
    Ok(path)
}
