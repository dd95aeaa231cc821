//! Claims about a journal on a disk that is really full: a small file system of its own.

use serde_json::Value;
use testkit::{Client, SmallDisk};

use crate::running::{Running, journal_in, until};

const FILL_BYTES: usize = 900_000;

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
    let Some(_disk) = SmallDisk::mount(&dir, 1).unwrap() else { return };
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
