//! Cases in the language of Varnish's own tests, `varnishtest/*.vtc`, against the binary.
//!
//! An outside program plays clients and origin step by step, with barriers between them: who asks
//! first, who leaves, where the origin stops. Each case has a Tidegate of its own with the
//! configuration `varnishtest/tidegate.toml`; its first line is its claim. No case sleeps: what
//! only the status page tells, such as how many wait, is awaited there by `varnishtest/await.sh`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use testkit::{Absent, free_port, notice, require};

use crate::profiles::replace;
use crate::running::Running;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/varnishtest");
const CONFIG: &str = include_str!("varnishtest/tidegate.toml");
const AT_ONCE: usize = 4;

fn cases() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(FOLDER).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = files.filter(|file| file.extension() == Some("vtc".as_ref())).collect();
    cases.sort();
    cases
}

/// Runs one case; returns the log of the program when it fails.
fn run(varnishtest: &Path, case: &Path) -> Option<String> {
    let origin = free_port();
    let config = CONFIG.replace("ORIGIN", &origin.to_string());
    let server = Running::start(&config, |folder| replace(folder, &["ann", "bob"]));
    let mut command = Command::new(varnishtest);
    command.arg("-t").arg("60").arg("-D").arg(format!("origin=127.0.0.1:{origin}"));
    command.arg("-D").arg(format!("tidegate={}", server.public));
    command.arg("-D").arg(format!("admin={}", server.admin));
    command.arg("-D").arg(format!("await=sh {FOLDER}/await.sh {}", server.admin));
    let output = command.arg(case).current_dir(server.folder.path()).output().unwrap();
    let log = String::from_utf8_lossy(&output.stdout).into_owned();
    (!output.status.success()).then_some(log)
}

#[test]
fn every_varnishtest_case_passes() {
    let Some(varnishtest) = require("varnishtest", Absent::Skip) else { return };
    let Some(_curl) = require("curl", Absent::Skip) else { return };
    let cases = cases();
    let todo = Mutex::new(cases.iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = todo.lock().unwrap().next() else { break };
                    if let Some(log) = run(&varnishtest, case) {
                        failed.lock().unwrap().push((case, log));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    notice(&format!("varnishtest: {} of {} cases pass", cases.len() - failed.len(), cases.len()));
    let text = failed.iter().map(|(case, log)| format!("{}:\n{log}\n", case.display()));
    assert!(failed.is_empty(), "{}", text.collect::<String>());
}
