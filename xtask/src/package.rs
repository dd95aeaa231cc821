//! Makes packages of Tidegate and tries them: `cargo xtask package deb`, `wheel`, `image`, `try`.
//!
//! A package is made of a program that is built: by default the release build, with the commit in
//! it, else what `--binary` names. The Debian package is tried on a clean Debian under systemd.
//! Elsewhere: what is in a package, and the trial, which are scripts of `packaging/deb` and
//! `packaging/make`; their tests (`crates/tidegate/tests/it/package.rs`, `packaging/tests`).

mod notices;
mod parts;
mod portable;
mod recipe;
pub(crate) mod reproduce;
pub(crate) mod sbom;
pub(crate) mod sums;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};

/// Where packages are made.
const PACKAGES: &str = "target/package";
/// Where the Debian of the trial is kept.
const TRIAL: &str = "target/package-try";
/// Levels of xz: of a package for others, and of one that is only looked at.
const LEVELS: [&str; 2] = ["6", "0"];

/// What may follow `package deb` and the others.
#[derive(Debug, Default)]
struct PackageOptions {
    binary: Option<PathBuf>,
    to: Option<PathBuf>,
    quick: bool,
}

impl PackageOptions {
    /// Where packages go.
    fn dir(&self) -> PathBuf {
        self.to.clone().unwrap_or_else(|| root().join(PACKAGES))
    }

    /// The program, which may have to be built, and where the package goes.
    fn places(&self) -> Result<(PathBuf, PathBuf)> {
        let binary = match &self.binary {
            Some(binary) => absolute(binary)?,
            None => release()?,
        };
        let dir = self.dir();
        // Each artefact has them in it.
        notices::write(&dir, &version()?)?;
        Ok((binary, absolute(&dir)?))
    }
}

/// Makes the Debian package, and says where it is.
pub(crate) fn deb(arguments: &[&str]) -> Result<()> {
    let package = build(&read(arguments)?)?;
    println!("{}", package.display());
    Ok(())
}

/// Writes the licences of what is linked into the directory that `--to` names, and says where.
pub(crate) fn notices(arguments: &[&str]) -> Result<()> {
    println!("{}", notices::write(&read(arguments)?.dir(), &version()?)?.display());
    Ok(())
}

/// Makes what a script of `packaging/make` makes, and says where it is.
pub(crate) fn by_script(name: &str, arguments: &[&str]) -> Result<()> {
    let options = read(arguments)?;
    let (binary, dir) = options.places()?;
    let mut python = Command::new("python3");
    python.arg(root().join("packaging/make").join(name)).arg(binary).arg(dir).arg(version()?);
    if options.quick {
        python.arg("--quick");
    }
    execute(&mut python)
}

/// Makes the Debian package and the wheel, and tries both.
pub(crate) fn try_out(arguments: &[&str]) -> Result<()> {
    let options = read(arguments)?;
    let package = build(&options)?;
    by_script("wheel.py", arguments)?;
    let wheel = made(&options.dir(), &format!("tidegate-{}-", version()?), ".whl")?;
    let mut trial = script("try.sh");
    execute(trial.arg(package).arg(wheel).arg(root().join(TRIAL)))
}

fn read(arguments: &[&str]) -> Result<PackageOptions> {
    let mut options = PackageOptions::default();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut path = || arguments.next().map(PathBuf::from).context("it wants a path");
        match *argument {
            "--quick" => options.quick = true,
            "--binary" => options.binary = Some(path().context("--binary")?),
            "--to" => options.to = Some(path().context("--to")?),
            other => bail!("`{other}` is none of --binary PATH, --to DIR, --quick"),
        }
    }
    Ok(options)
}

fn build(options: &PackageOptions) -> Result<PathBuf> {
    let ((binary, dir), version) = (options.places()?, version()?);
    let level = LEVELS[usize::from(options.quick)];
    execute(script("build.sh").arg(binary).arg(&dir).args([&version, level]))?;
    made(&dir, &format!("tidegate_{version}_"), ".deb")
}

/// The newest file with such a name: others may be left of an older glibc.
fn made(dir: &Path, beginning: &str, end: &str) -> Result<PathBuf> {
    let paths = fs::read_dir(dir)?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(beginning) && name.ends_with(end)
    };
    let newest =
        paths.filter(is_ours).max_by_key(|path| path.metadata().and_then(|it| it.modified()).ok());
    newest.context("no package was made")
}

fn absolute(path: &Path) -> Result<PathBuf> {
    path.canonicalize().with_context(|| format!("there is no `{}`", path.display()))
}

fn script(name: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg(root().join("packaging/deb").join(name));
    command
}

/// The version of the workspace.
fn version() -> Result<String> {
    let text = fs::read_to_string(root().join("Cargo.toml")).context("reading `Cargo.toml`")?;
    let (_, section) = text.split_once("[workspace.package]").context("no [workspace.package]")?;
    let version = section.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = version.and_then(|rest| rest.strip_suffix('"')).context("no version")?;
    Ok(version.to_owned())
}

/// Builds the program for others; the commit is in it where the checkout has nothing else.
fn release() -> Result<PathBuf> {
    let mut cargo = portable::cargo_build()?;
    cargo.args(["--release", "--locked", "--package", "tidegate"]).current_dir(root());
    if let Some(commit) = commit() {
        cargo.env("TIDEGATE_COMMIT", commit);
    }
    recipe::make_repeatable(&mut cargo, &root())?;
    execute(&mut cargo)?;
    absolute(&root().join("target").join(portable::dir("release")).join("tidegate"))
}

fn commit() -> Option<String> {
    let answer = |words: &[&str]| {
        let output = Command::new("git").args(words).current_dir(root()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let commit = answer(&["rev-parse", "HEAD"])?;
    answer(&["status", "--porcelain"])?.is_empty().then_some(commit)
}
