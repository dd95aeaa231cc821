//! Claims about what becomes of actions where the trail can be written, and where it cannot.

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stdx::{FaultyDisk, Lasting, ManualClock};

use super::{ActionRecorder, OnFull, Options};
use crate::actor::Actor;
use crate::tests::{DIR, whole};

fn recorder(disk: &FaultyDisk, on_full: OnFull, syslog: Option<PathBuf>) -> ActionRecorder {
    let options = Options { on_full, syslog, ..Options::new(DIR.into()) };
    ActionRecorder::with(options, Arc::new(disk.clone()), Arc::new(ManualClock::at(1_000_000)))
}

fn alice() -> Actor {
    let (uid, user) = (Some(1000), Some("alice".to_owned()));
    Actor { client: Some("127.0.0.1".to_owned()), uid, user, sudo_user: None }
}

#[test]
fn an_action_is_on_disk_before_it_begins_and_has_its_result_after() {
    let disk = FaultyDisk::new(1);
    let recorder = recorder(&disk, OnFull::Serve, None);
    let begun = recorder.begin(alice(), "purge", "url=/x").unwrap();
    assert_eq!(whole(&disk).actions[0].result, None);
    begun.end("done, 3 entries");
    // What was answered for is there after a crash.
    let action = whole(&disk.crash()).actions.remove(0);
    assert_eq!(action.result.as_deref(), Some("done, 3 entries"));
    assert_eq!(action.who.to_string(), "127.0.0.1 (uid 1000 alice)");
    assert!(action.who.is_called("alice") && action.who.is_called("1000"));
    assert!(!action.who.is_called("bob"));
}

#[test]
fn an_action_that_is_dropped_or_panics_has_a_result_too() {
    let disk = FaultyDisk::new(1);
    let recorder = recorder(&disk, OnFull::Serve, None);
    drop(recorder.begin(alice(), "purge", "").unwrap());
    let own = recorder.clone();
    let panicked = std::thread::spawn(move || {
        let _begun = own.begin(alice(), "purge", "").unwrap();
        panic!("an action was told to panic");
    });
    panicked.join().unwrap_err();
    let results: Vec<_> = whole(&disk).actions.into_iter().filter_map(|it| it.result).collect();
    assert_eq!(results, ["given up", "failed: a panic"]);
}

#[test]
fn on_a_full_disk_actions_are_refused_where_that_is_configured() {
    let disk = FaultyDisk::new(1);
    let recorder = recorder(&disk, OnFull::Refuse, None);
    recorder.begin(alice(), "purge", "url=/1").unwrap().end("done");
    disk.set_capacity(Some(0));
    let error = recorder.begin(alice(), "purge", "url=/2").unwrap_err();
    assert!(error.to_string().starts_with("write `/data/audit/audit-000001.ndjson"), "{error}");
    let alarm = recorder.alarm().unwrap();
    assert!(alarm.ends_with("; actions are refused"), "{alarm}");
    disk.set_capacity(None);
    recorder.begin(alice(), "purge", "url=/3").unwrap().end("done");
    assert_eq!(recorder.alarm(), None);
    let whats: Vec<_> = whole(&disk).actions.into_iter().map(|action| action.what).collect();
    assert_eq!(whats, ["url=/1", "url=/3"]);
}

#[test]
fn on_a_full_disk_actions_are_done_otherwise_and_the_alarm_ends_without_a_further_action() {
    let disk = FaultyDisk::new(1);
    let recorder = recorder(&disk, OnFull::Serve, None);
    disk.fail_nth(1, Lasting::Forever);
    let begun = recorder.begin(alice(), "purge", "url=/1").unwrap();
    assert!(begun.unwritten().unwrap().contains("/data/audit"));
    begun.end("done");
    let alarm = recorder.alarm().unwrap();
    assert!(alarm.starts_with("`/data/audit`: 2 entries are not written since 1970-01-01T"));
    assert!(alarm.ends_with("; actions are done all the same"), "{alarm}");
    disk.heal();
    let deadline = Instant::now() + Duration::from_secs(60);
    while recorder.alarm().is_some() {
        assert!(Instant::now() < deadline, "the alarm still stands");
        std::thread::yield_now();
    }
    let note = whole(&disk).notes.remove(0).text;
    assert!(note.starts_with("not written: 2 entries since 1970-01-01T"), "{note}");
}

#[test]
fn a_head_that_could_not_be_written_is_an_alarm_until_it_is() {
    let disk = FaultyDisk::new(1);
    let recorder = recorder(&disk, OnFull::Refuse, None);
    recorder.begin(alice(), "purge", "url=/1").unwrap().end("done");
    let begun = recorder.begin(alice(), "purge", "url=/2").unwrap();
    let before = disk.operations();
    begun.end("done");
    // The last one but nothing: it makes the new name of the head durable.
    disk.fail_nth(disk.operations() - before, Lasting::Once);
    let begun = recorder.begin(alice(), "purge", "url=/3").unwrap();
    let alarm = recorder.alarm().unwrap();
    assert!(alarm.starts_with("`/data/audit`: a cut tail would not be noticed: "), "{alarm}");
    let deadline = Instant::now() + Duration::from_secs(60);
    while recorder.alarm().is_some() {
        assert!(Instant::now() < deadline, "the alarm still stands");
        std::thread::yield_now();
    }
    begun.end("done");
    assert!(whole(&disk).remarks.is_empty());
}

#[test]
fn each_entry_has_a_witness_at_syslog_also_where_the_trail_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    let socket = UnixDatagram::bind(&path).unwrap();
    let heard = || {
        let mut bytes = [0; 4096];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let disk = FaultyDisk::new(1);
    let recorder = recorder(&disk, OnFull::Serve, Some(path));
    recorder.begin(alice(), "purge", "url=/x").unwrap().end("done, 3 entries");
    let reading = whole(&disk);
    let hash = |number| &reading.hashes[&number][..12];
    let text = "tidegate: Running purge url=/x by 127.0.0.1 (uid 1000 alice)";
    let begun = heard();
    assert!(begun.starts_with("<38>"), "{begun}");
    assert!(begun.ends_with(&format!(" {text} [audit 1 {}]", hash(1))), "{begun}");
    let ended = heard();
    assert!(ended.ends_with(&format!("{text}: done, 3 entries [audit 2 {}]", hash(2))), "{ended}");
    disk.fail_nth(1, Lasting::Forever);
    recorder.begin(alice(), "purge", "url=/y").unwrap().end("done");
    assert!(
        heard().ends_with("Running purge url=/y by 127.0.0.1 (uid 1000 alice) [audit not written]")
    );
}
