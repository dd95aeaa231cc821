//! statsd's own tests (npm `statsd` 0.9.0), with Tidegate in place of the server that they start.
//!
//! The suite starts `node stats.js CONFIG`. A script called `node`, first on the path, starts
//! `tidegate statsd --compat statsd` instead, and hands everything else on to Node.
//! The unit tests of lines, timers, deletions and sets run in a directory with modules of ours in
//! place of those they test (`statsd_suite/shims`). These modules ask `tidegate statsd eval`.
//! The unit tests of sockets, proxy and processes test JavaScript that is not ours, and do not run.

use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::{Absent, TempDir, notice, require, skip};

use crate::running::BINARY;

/// The files that start a server.
const BLACK_BOX: [&str; 8] = [
    "graphite_delete_counters_tests",
    "graphite_legacy_tests",
    "graphite_legacy_tests_statsprefix",
    "graphite_pickle_tests",
    "graphite_tests",
    "graphite_tests_filters",
    "graphite_tests_statsprefix",
    "graphite_tests_statssuffix",
];

/// The files that test functions, with their tests; `helpers_tests` has 21, but two of one name.
const UNITS: [(&str, usize); 4] = [
    ("helpers_tests", 20),
    ("process_metrics_tests", 27),
    ("mgmt_console_tests", 2),
    ("set_tests", 5),
];

/// How often each file may be run.
///
/// Flushes come each 200 ms, and the suite looks at what comes within 400 ms from a flush on. On a
/// busy machine it misses the flush that comes just as it stops looking, or sees it twice. That
/// happens in about one of thirty runs of a file.
const ATTEMPTS: usize = 5;
/// Ports that are written in the suite.
const UDP: u16 = 8125;
const TCP: [u16; 2] = [8126, 31337];

#[test]
fn statsds_black_box_tests_pass_against_tidegate() {
    let Some(node) = require("node", Absent::Skip) else { return };
    let Some(modules) = modules() else { return };
    let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    if UdpSocket::bind(("0.0.0.0", UDP)).is_err() || !TCP.iter().all(is_free) {
        return skip("statsd's own tests need the ports 8125, 8126 and 31337, and one is taken");
    }
    let suite = Suite::new(node, modules);
    let (mut all, mut repeated) = (Passed::default(), Vec::new());
    for file in BLACK_BOX {
        let mut attempts = 0;
        let passed = loop {
            attempts += 1;
            match suite.run_black_box(file) {
                Ok(passed) => break passed,
                Err(text) if attempts < ATTEMPTS => {
                    repeated.push(format!("{file}: {}", why(&text)))
                }
                Err(text) => panic!("{file}, {ATTEMPTS} times: {text}"),
            }
        };
        all.add(passed);
    }
    let servers = suite.started().len();
    assert!(servers >= all.tests, "Tidegate was started {servers} times only for {all:?}");
    let Passed { tests, assertions } = all;
    notice(&format!(
        "statsd 0.9.0's black-box tests: {} files, {tests} tests, {assertions} assertions, \
         {servers} servers; files run again: {}{}",
        BLACK_BOX.len(),
        repeated.len(),
        repeated.iter().map(|why| format!("\n  {why}")).collect::<String>(),
    ));
}

#[test]
fn statsds_unit_tests_pass_with_what_eval_answers() {
    let Some(node) = require("node", Absent::Skip) else { return };
    let Some(modules) = modules() else { return };
    let suite = Suite::new(node, modules);
    let folder = suite.units();
    let mut all = Passed::default();
    for (file, tests) in UNITS {
        let passed = suite.run(file, &folder).unwrap_or_else(|text| panic!("{file}: {text}"));
        assert_eq!(passed.tests, tests, "{file}");
        all.add(passed);
    }
    let Passed { tests, assertions } = all;
    let files = UNITS.len();
    notice(&format!(
        "statsd 0.9.0's unit tests: {files} files, {tests} tests, {assertions} assertions"
    ));
}

/// What a run has shown.
#[derive(Debug, Default, Clone, Copy)]
struct Passed {
    tests: usize,
    assertions: usize,
}

impl Passed {
    fn add(&mut self, other: Self) {
        self.tests += other.tests;
        self.assertions += other.assertions;
    }
}

/// The suite with Tidegate in it.
struct Suite {
    node: PathBuf,
    modules: PathBuf,
    folder: TempDir,
}

impl Suite {
    fn new(node: PathBuf, modules: PathBuf) -> Self {
        let folder = TempDir::new().unwrap();
        make_shim(folder.path(), &node);
        // The suite asks for `python`, which Debian has by its full name only.
        if let Some(python) = require("python3", Absent::Skip) {
            std::os::unix::fs::symlink(python, folder.path().join("python")).unwrap();
        }
        Self { node, modules, folder }
    }

    /// Runs a file that starts servers, with Tidegate in their place.
    fn run_black_box(&self, file: &str) -> Result<Passed, String> {
        let outcome = self.run(file, &self.modules.join("statsd"));
        self.kill_left_over();
        outcome
    }

    /// Runs a file of a folder; returns what passed, or what the suite says.
    fn run(&self, file: &str, folder: &Path) -> Result<Passed, String> {
        let mut run = Command::new("sh");
        run.args(["-c", "PATH=\"$0:$PATH\" exec \"$@\""]).arg(self.folder.path()).arg(&self.node);
        run.arg("--no-warnings").arg(ours("report.js")).arg(self.modules.join("nodeunit"));
        run.arg(format!("test/{file}.js")).current_dir(folder).env("TIDEGATE", BINARY);
        let output = run.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        match passed(&text) {
            Some(passed) => Ok(passed),
            None => Err(format!("{text}{}", String::from_utf8_lossy(&output.stderr))),
        }
    }

    /// A folder with the unit tests, and nothing of statsd beside them: what they test is ours.
    fn units(&self) -> PathBuf {
        let folder = self.folder.path().join("units");
        for inner in ["lib", "test"] {
            std::fs::create_dir_all(folder.join(inner)).unwrap();
        }
        std::os::unix::fs::symlink(&self.modules, folder.join("node_modules")).unwrap();
        for (file, _) in UNITS {
            let test = Path::new("test").join(file).with_extension("js");
            std::fs::copy(self.modules.join("statsd").join(&test), folder.join(&test)).unwrap();
        }
        for shim in std::fs::read_dir(ours("shims")).unwrap() {
            let shim = shim.unwrap();
            std::fs::copy(shim.path(), folder.join("lib").join(shim.file_name())).unwrap();
        }
        folder
    }

    /// Processes that were started.
    fn started(&self) -> Vec<String> {
        let noted = std::fs::read_to_string(self.folder.path().join("started")).unwrap_or_default();
        noted.lines().map(str::to_owned).collect()
    }

    /// A file that fails ends without its server.
    fn kill_left_over(&self) {
        for process in self.started() {
            let program = std::fs::read_link(format!("/proc/{process}/exe"));
            if program.is_ok_and(|program| program == Path::new(BINARY)) {
                Command::new("kill").args(["-s", "KILL", &process]).status().unwrap();
            }
        }
    }
}

/// Where the set-up installs the packages; `None`, with the reason printed, where it has not.
fn modules() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let modules = target.join("statsd-suite/node_modules");
    if modules.join("statsd/stats.js").exists() {
        return Some(modules.canonicalize().unwrap());
    }
    skip("statsd is not installed; `cargo xtask setup --test` installs it");
    None
}

/// A `node` that starts Tidegate where statsd is meant, and notes its process.
fn make_shim(folder: &Path, node: &Path) {
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = stats.js ] || exec {node} \"$@\"\necho $$ >> {folder}/started\n\
         exec {BINARY} statsd --compat statsd --config \"$2\"\n",
        node = node.display(),
        folder = folder.display(),
    );
    let shim = folder.join("node");
    std::fs::write(&shim, script).unwrap();
    std::fs::set_permissions(&shim, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What stands beside this test.
fn ours(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/statsd_suite").join(name)
}

/// The first error in what a file that failed has said.
fn why(text: &str) -> &str {
    text.lines().find(|line| line.contains("Error: ")).unwrap_or("it ended early")
}

/// What `report.js` says when all of a file's tests have passed.
fn passed(text: &str) -> Option<Passed> {
    let line = text.lines().find_map(|line| line.strip_prefix("passed: "))?;
    let (tests, assertions) = line.split_once(' ')?;
    Some(Passed { tests: tests.parse().ok()?, assertions: assertions.parse().ok()? })
}
