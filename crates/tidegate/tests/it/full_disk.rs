//! Claims about a journal on a disk that is really full: a small file system of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testkit::{Client, skip};

use crate::running::{Running, journal_in, until};

const FILL_BYTES: usize = 900_000;

/// A mounted file system of one megabyte; unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None`, with the reason printed, where this user may not mount.
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mut mount = Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"]).arg(at);
        let output = mount.output().unwrap();
        if output.status.success() {
            return Some(Self(at.to_owned()));
        }
        let reason = String::from_utf8_lossy(&output.stderr);
        skip(&format!("a full disk needs the right to mount a small one: {}", reason.trim()));
        None
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // A server that still has files open there keeps it; lazily, it goes with them.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

fn config(on_full: &str) -> String {
    format!(
        "[journal]\ndir = \"data/journal\"\nsync = \"always\"\non_full = \"{on_full}\"\n\n\
         [[route]]\npath = \"/read\"\ncollect = \"only\"\n"
    )
}

fn post(server: &Running, event: u32) -> u16 {
    let target = format!("/read?item={event}&padding={}", "x".repeat(500));
    Client::post(server.public, &target, "").send().status
}

#[test]
fn a_full_disk_refuses_events_loses_none_acknowledged_and_recovers() {
    let folder = testkit::TempDir::new().unwrap();
    let dir = folder.path().join("data/journal");
    let Some(_disk) = SmallDisk::mount(&dir) else { return };
    let server = Running::start_in(folder, &config("refuse"));
    let filler = dir.join("filler");
    std::fs::write(&filler, vec![0; FILL_BYTES]).unwrap();

    let mut acknowledged = Vec::new();
    let refused = (0..1000).find(|event| match post(&server, *event) {
        204 => {
            acknowledged.push(*event);
            false
        }
        status => {
            assert_eq!(status, 503);
            true
        }
    });
    assert!(refused.is_some() && !acknowledged.is_empty(), "{} fitted", acknowledged.len());
    let alarms = server.status()["alarms"].to_string();
    assert!(alarms.contains("journal"), "{alarms}");

    std::fs::remove_file(filler).unwrap();
    until("events to be taken again", || post(&server, 5000) == 204);
    let lines = journal_in(&dir);
    let holds = |event: &u32| {
        let wanted = format!("item={event}&");
        let is_it = |line: &&Value| line["query"].as_str().unwrap().starts_with(&wanted);
        lines.iter().filter(is_it).count() == 1
    };
    let missing: Vec<&u32> = acknowledged.iter().filter(|event| !holds(event)).collect();
    assert!(missing.is_empty(), "acknowledged, and not recorded once: {missing:?}");
}
