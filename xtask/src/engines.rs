//! Sets up Kafka, ClickHouse and FerretDB, and runs the long tests on them: `make test-engines`.
//!
//! Engines go to `target/engines`, where the tests look for them. ClickHouse comes from the
//! system's packages, Kafka by Maven, FerretDB is built with Go. What is there is not made again.
//! Invariant: an engine that cannot be set up is named, and does not hide the others. Elsewhere:
//! tests that say why they do not run, and the list of what ran (`crates/tidegate/tests/engines`).

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::checkout::{execute, root};
use crate::setup::apt_install;

/// Where engines are put, and where the tests look for them.
const DIR: &str = "target/engines";

/// An engine, and what puts it in its directory.
struct Engine {
    name: &'static str,
    /// Programs that the setting up needs.
    programs: &'static [&'static str],
    set_up: fn(&Path) -> Result<()>,
}

const ENGINES: [Engine; 3] = [
    Engine { name: "kafka", programs: &["java", "mvn"], set_up: kafka },
    Engine { name: "clickhouse", programs: &["apt-get"], set_up: clickhouse },
    Engine { name: "ferretdb", programs: &["go"], set_up: ferretdb },
];

/// Sets up what it can, and runs the tests.
pub(crate) fn run() -> Result<()> {
    let dir = root().join(DIR);
    fs::create_dir_all(&dir).with_context(|| format!("creating `{}`", dir.display()))?;
    for engine in &ENGINES {
        match engine.prepare(&dir.join(engine.name)) {
            Ok(()) => println!("engine {}: ready", engine.name),
            Err(error) => println!("engine {}: NOT here: {error:#}", engine.name),
        }
    }
    let mut tests = Command::new("cargo");
    tests.args(["test", "--package", "tidegate", "--test", "engines", "--", "--test-threads=1"]);
    execute(tests.current_dir(root()))
}

impl Engine {
    fn prepare(&self, dir: &Path) -> Result<()> {
        for program in self.programs {
            if Command::new(program).arg("--help").output().is_err() {
                bail!("`{program}` is missing; install it with your system's packages");
            }
        }
        fs::create_dir_all(dir).with_context(|| format!("creating `{}`", dir.display()))?;
        (self.set_up)(dir)
    }
}

fn kafka(dir: &Path) -> Result<()> {
    let libraries = dir.join("libs");
    if libraries.is_dir() {
        return Ok(());
    }
    let mut maven = Command::new("mvn");
    maven.args(["-q", "-B", "-f", "xtask/engines/kafka/pom.xml", "dependency:copy-dependencies"]);
    let into = format!("-DoutputDirectory={}", libraries.display());
    execute(maven.arg(into).current_dir(root()))
}

/// The server is old, and knows no deduplication tokens: it takes plain inserts only.
fn clickhouse(dir: &Path) -> Result<()> {
    let program = Path::new("/usr/sbin/clickhouse-server");
    if !program.exists() {
        apt_install(&["clickhouse-server"])?;
    }
    let link = dir.join("clickhouse-server");
    if link.exists() {
        return Ok(());
    }
    std::os::unix::fs::symlink(program, &link)
        .with_context(|| format!("linking `{}`", link.display()))
}

fn ferretdb(dir: &Path) -> Result<()> {
    let program = dir.join("ferretdb");
    if program.exists() {
        return Ok(());
    }
    println!("building FerretDB; this takes some minutes, once");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg(".");
    execute(build.current_dir(root().join("xtask/engines/ferretdb")))
}
