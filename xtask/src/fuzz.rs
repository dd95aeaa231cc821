//! Runs the fuzz targets guided by coverage, on the stable compiler.
//!
//! `-Cpasses=sancov-module` puts the counters in that libFuzzer reads. The targets look for broken
//! properties in safe code, so no sanitizer is needed, and no nightly compiler with it. A target
//! runs for a minute unless `--minutes` says more; an input has at most 4,096 bytes.
//! New inputs stay in `target/fuzz/corpus`. `--keep` puts the fewest that cover as much into
//! `fuzz/corpus/found`, for targets without a crash. A crash fails the command after all targets
//! ran.
//! Elsewhere: the targets and the files of the corpus (package `fuzz`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};

const DIR: &str = "target/fuzz";
const RUSTFLAGS: &str = "--cfg fuzzing -Ccodegen-units=16 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
const INPUT_BYTES_MAX: u32 = 4096;

/// What was asked for.
#[derive(Debug, Default)]
struct Options<'a> {
    target: Option<&'a str>,
    minutes: Option<f64>,
    keep: bool,
}

/// Runs one target or all in turn.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    let options = parse(arguments)?;
    let all = output(&mut plain(&["list"]))?;
    let targets: Vec<&str> =
        all.lines().filter(|name| options.target.is_none_or(|only| only == *name)).collect();
    if targets.is_empty() {
        bail!("no target is called `{}`; there are {}", options.target.unwrap_or(""), words(&all));
    }
    let program = build()?;
    let mut crashed = Vec::new();
    for target in targets {
        let session = Session::prepare(&program, target)?;
        let Ran { executions, coverage, found } = session.run(options.minutes.unwrap_or(1.0))?;
        let inputs = fs::read_dir(&session.corpus)?.count();
        println!("{target:<12} {executions:>12} executions, {coverage}, {inputs} inputs");
        for crash in &found {
            println!("    crash: `{}`", crash.display());
        }
        if !found.is_empty() {
            crashed.push(target);
        } else if options.keep {
            session.keep()?;
        }
    }
    if !crashed.is_empty() {
        bail!("crashes in {}", crashed.join(", "));
    }
    Ok(())
}

fn parse<'a>(arguments: &[&'a str]) -> Result<Options<'a>> {
    let mut options = Options::default();
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--keep" => options.keep = true,
            "--minutes" => {
                let minutes = words.next().and_then(|minutes| minutes.parse().ok());
                options.minutes = Some(minutes.context("`--minutes` wants a number")?);
            }
            name if !name.starts_with('-') => options.target = Some(name),
            other => bail!("`{other}` is no option of `fuzz`"),
        }
    }
    Ok(options)
}

/// The package built without instruments: it knows the corpus files.
fn plain(arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["run", "--quiet", "--package", "fuzz", "--"]).args(arguments).current_dir(root());
    cargo
}

/// Builds the package with counters, in a directory of its own; overflow is an error.
fn build() -> Result<PathBuf> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.context("`rustc -vV` names no host")?;
    let dir = root().join(DIR).join("build");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--release", "--package", "fuzz", "--bin", "fuzz"]);
    // Named, so that the counters go into what is tested and not into what runs while building.
    cargo.args(["--target", host]).arg("--target-dir").arg(&dir);
    cargo.env("RUSTFLAGS", RUSTFLAGS);
    cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
    cargo.env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true");
    cargo.env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true");
    execute(cargo.current_dir(root()))?;
    Ok(dir.join(host).join("release/fuzz"))
}

/// One target with its directories.
#[derive(Debug)]
struct Session<'a> {
    program: &'a Path,
    target: &'a str,
    corpus: PathBuf,
    crashes: PathBuf,
}

/// What a run brought.
#[derive(Debug, Default)]
struct Ran {
    executions: u64,
    coverage: String,
    found: Vec<PathBuf>,
}

impl<'a> Session<'a> {
    fn prepare(program: &'a Path, target: &'a str) -> Result<Self> {
        let dir = root().join(DIR);
        let corpus = dir.join("corpus").join(target);
        let crashes = dir.join("crashes").join(target);
        fs::create_dir_all(&crashes)?;
        execute(plain(&["unpack", target]).arg(&corpus))?;
        Ok(Self { program, target, corpus, crashes })
    }

    fn fuzzer(&self) -> Command {
        let mut fuzzer = Command::new(self.program);
        fuzzer.arg(format!("--target={}", self.target)).current_dir(root());
        fuzzer.arg(format!("-max_len={INPUT_BYTES_MAX}"));
        fuzzer
    }

    fn run(&self, minutes: f64) -> Result<Ran> {
        let before = files(&self.crashes)?;
        let mut fuzzer = self.fuzzer();
        fuzzer.arg(&self.corpus).arg(format!("-max_total_time={}", (minutes * 60.0).ceil()));
        fuzzer.arg(format!("-dict={}", self.corpus.with_extension("dict").display()));
        fuzzer.arg(format!("-artifact_prefix={}/", self.crashes.display()));
        fuzzer.args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1"]);
        let ended = fuzzer.stdin(Stdio::null()).output().context("starting libFuzzer")?;
        let text = String::from_utf8_lossy(&ended.stderr);
        let mut ran = read_report(&text);
        ran.found = files(&self.crashes)?.into_iter().filter(|f| !before.contains(f)).collect();
        if !ended.status.success() && ran.found.is_empty() {
            bail!("target `{}`: {}\n{text}", self.target, ended.status);
        }
        Ok(ran)
    }

    /// Puts the fewest inputs that cover as much into the repository.
    fn keep(&self) -> Result<()> {
        let fewest = self.corpus.with_extension("fewest");
        if fewest.exists() {
            fs::remove_dir_all(&fewest)?;
        }
        fs::create_dir_all(&fewest)?;
        let mut merge = self.fuzzer();
        merge.arg("-merge=1").arg(&fewest).arg(&self.corpus);
        execute(merge.stderr(Stdio::null()))?;
        execute(plain(&["pack", self.target]).arg(&fewest))
    }
}

/// Reads what libFuzzer says: executions, and the counters reached last.
fn read_report(text: &str) -> Ran {
    let mut ran = Ran::default();
    for line in text.lines() {
        if let Some(number) = line.strip_prefix("stat::number_of_executed_units:") {
            ran.executions = number.trim().parse().unwrap_or(0);
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |name: &str| {
            let at = words.iter().position(|word| *word == name)?;
            words.get(at + 1).copied()
        };
        if let (Some(edges), Some(features)) = (after("cov:"), after("ft:")) {
            ran.coverage = format!("{edges} edges, {features} features");
        }
    }
    ran
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir)?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("starting `{program}`"))?;
    if !output.status.success() {
        bail!("`{program}`: {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn words(lines: &str) -> String {
    lines.lines().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
