//! Claims about the units in `packaging/systemd`: systemd takes them, they are as closed as
//! docs/DEPLOYING.md says, and the package's scripts know each. Started by systemd they are in
//! `cargo xtask package try`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pipeline::SupervisorOptions;
use testkit::{Absent, TempDir, require};

use crate::running::{BINARY, run};

/// What the package puts there.
const INSTALLED: &str = "/usr/bin/tidegate";
/// The version whose figures the documentation has.
const MEASURED_BY: &str = "systemd 252 ";
/// Ten times the exposure that no service may exceed.
const THRESHOLD: &str = "--threshold=15";

fn analyze() -> Command {
    Command::new(require("systemd-analyze", Absent::Panic).unwrap())
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Copies the units whose names end so, with the program where it is here.
fn units(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut units = Vec::new();
    for entry in fs::read_dir(project().join("packaging/systemd")).unwrap() {
        let unit = entry.unwrap().path();
        if unit.extension().is_some_and(|end| endings.iter().any(|it| end == *it)) {
            let text = fs::read_to_string(&unit).unwrap().replace(INSTALLED, BINARY);
            let copy = folder.join(unit.file_name().unwrap());
            fs::write(&copy, text).unwrap();
            units.push(copy);
        }
    }
    units.sort();
    units
}

#[test]
fn systemd_has_nothing_to_say_against_a_unit() {
    let folder = TempDir::new().unwrap();
    let units = units(folder.path(), &["service", "socket"]);
    assert_eq!(units.len(), 5, "{units:?}");
    let output = analyze().args(["verify", "--man=no"]).args(&units).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    // Units of this machine may be worse.
    let of_ours: Vec<&str> = said.lines().filter(|line| line.contains("tidegate")).collect();
    assert_eq!(of_ours, [""; 0]);
}

#[test]
fn each_service_is_as_exposed_as_the_documentation_says() {
    let folder = TempDir::new().unwrap();
    let page = fs::read_to_string(project().join("docs/DEPLOYING.md")).unwrap();
    let version = analyze().arg("--version").output().unwrap();
    let is_comparable = version.stdout.starts_with(MEASURED_BY.as_bytes());
    if !is_comparable {
        testkit::skip("figures of exposure are compared with those of systemd 252 only");
    }
    for unit in units(folder.path(), &["service"]) {
        let mut command = analyze();
        command.args(["security", "--offline=yes", "--no-pager", THRESHOLD]).arg(&unit);
        let output = command.output().unwrap();
        let table = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{table}");
        let name = unit.file_name().unwrap().to_str().unwrap();
        let (_, level) = table.rsplit_once(&format!("level for {name}: ")).unwrap();
        let level = level.split(' ').next().unwrap();
        let row = format!("| `{name}` | {level} |");
        let is_said = !is_comparable || page.contains(&row);
        assert!(is_said, "docs/DEPLOYING.md has no row `{row}`\n{table}");
    }
}

/// The names and texts of the units, as they are packed.
fn packed() -> Vec<(String, String)> {
    let folder = project().join("packaging/systemd");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |file: PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(file).unwrap())
    };
    files.map(read).collect()
}

#[test]
fn the_scripts_of_the_package_know_every_unit() {
    for script in ["postinst", "prerm", "postrm"] {
        let text = fs::read_to_string(project().join("packaging/deb").join(script)).unwrap();
        let of_names = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '.');
        let words: Vec<&str> = text.split(|letter: char| !of_names(letter)).collect();
        for (unit, _) in packed() {
            assert!(words.contains(&&*unit), "{script} does not know {unit}");
            // These are started, and restarted by an upgrade.
            let role = unit.strip_suffix(".service").filter(|_| script == "postinst");
            let loops = text.lines().filter(|line| line.trim_start().starts_with("for role in "));
            for line in loops {
                let is_in = |role| line.split([' ', ';']).any(|word| word == role);
                assert!(role.is_none_or(is_in), "{unit} is not in `{line}`");
            }
        }
    }
}

#[test]
fn a_unit_that_waits_for_a_file_has_an_example_of_it() {
    let mut files = Vec::new();
    for (unit, text) in packed() {
        let awaited =
            |line: &str| line.strip_prefix("ConditionPathExists=/etc/tidegate/").map(str::to_owned);
        let Some(file) = text.lines().find_map(awaited) else { continue };
        assert!(project().join("packaging/deb/examples").join(&file).exists(), "{unit}: {file}");
        assert!(text.contains(&format!(" -c /etc/tidegate/{file}\n")), "{unit} reads another");
        files.push(file);
    }
    files.sort();
    assert_eq!(files, ["events.toml", "statsd.toml"]);
}

#[test]
fn a_stop_has_time_for_the_drain_and_then_for_the_record_process() {
    let folder = TempDir::new().unwrap();
    let (_, said, _) = run(&["config", "explain", "listen.drain_timeout"], folder.path());
    let default = said.lines().find_map(|line| line.strip_prefix("  default   ")).unwrap();
    let seconds = |text: &str| text.trim_end_matches('s').parse::<u64>().unwrap();
    let ended = seconds(default) + SupervisorOptions::default().end_timeout.as_secs();
    let (_, unit) = packed().into_iter().find(|(name, _)| name == "tidegate.service").unwrap();
    let kill = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")).unwrap();
    assert!(seconds(kill) > ended, "killed after {kill} s, and it may take {ended} s");
}
