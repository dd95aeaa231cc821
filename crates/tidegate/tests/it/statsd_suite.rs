//! statsd's own tests (npm `statsd` 0.9.0), with Tidegate in place of the server that they start.
//!
//! The suite starts `node stats.js CONFIG`; a script of that name, first on the path, starts
//! `tidegate statsd --compat statsd` instead, and hands everything else on to Node. Its unit tests
//! are of JavaScript that is not ours, and count for nothing here.

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

/// The suite sends a datagram and wants it in a flush within 400 ms, which a busy machine may miss:
/// so often each file may be run.
const ATTEMPTS: usize = 5;
/// Ports that are written in the suite.
const UDP: u16 = 8125;
const TCP: [u16; 2] = [8126, 31337];

#[test]
fn statsds_own_tests_pass_against_tidegate() {
    let Some(node) = require("node", Absent::Skip) else { return };
    let Some(modules) = modules() else { return };
    let is_free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    if UdpSocket::bind(("0.0.0.0", UDP)).is_err() || !TCP.iter().all(is_free) {
        return skip("statsd's own tests need the ports 8125, 8126 and 31337, and one is taken");
    }
    let suite = Suite::new(node, modules);
    let (mut assertions, mut repeated) = (0, 0);
    for file in BLACK_BOX {
        let mut attempts = 0;
        assertions += loop {
            attempts += 1;
            match suite.run(file) {
                Ok(count) => break count,
                Err(text) => assert!(attempts < ATTEMPTS, "{file}, {ATTEMPTS} times: {text}"),
            }
        };
        repeated += attempts - 1;
    }
    let servers = suite.started().len();
    assert!(servers >= assertions / 10, "Tidegate was started {servers} times only");
    notice(&format!(
        "statsd 0.9.0's black-box tests: {} files, {assertions} assertions, {servers} servers, \
         {repeated} files repeated",
        BLACK_BOX.len()
    ));
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
        Self { node, modules, folder }
    }

    /// Runs a file; returns how many assertions held, or what the suite says.
    fn run(&self, file: &str) -> Result<usize, String> {
        let reporter = "require(process.argv[1]).reporters.minimal.run(process.argv.slice(2))";
        let mut run = Command::new("sh");
        run.args(["-c", "PATH=\"$0:$PATH\" exec \"$@\""]).arg(self.folder.path()).arg(&self.node);
        run.args(["--no-warnings", "-e", reporter]).arg(self.modules.join("nodeunit"));
        run.arg(format!("test/{file}.js")).current_dir(self.modules.join("statsd"));
        let output = run.output().unwrap();
        self.kill_left_over();
        let text = plain(&String::from_utf8_lossy(&output.stdout));
        let count = text.lines().find_map(|line| line.strip_prefix("OK: ")?.split(' ').next());
        match count.and_then(|count| count.parse().ok()) {
            Some(count) if output.status.success() => Ok(count),
            _ => Err(text + &String::from_utf8_lossy(&output.stderr)),
        }
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

/// Without the escape sequences for colour.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        plain.push_str(&rest[..start]);
        let end = rest[start..].find('m').map_or(rest.len(), |end| start + end + 1);
        rest = &rest[end..];
    }
    (plain + rest).trim().to_owned()
}
