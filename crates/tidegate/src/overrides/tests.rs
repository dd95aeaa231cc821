//! Claims about reading what an operator changed before the last start.

use std::fs;

use testkit::TempDir;

use super::{Changes, read};

#[test]
fn a_file_with_wrong_content_is_set_aside_and_raises_an_alarm() {
    let dir = TempDir::new().expect("a directory can be made");
    let file = dir.path().join("live.toml");
    for wrong in [&b"[rollout.news]\nrollout = \"half\"\n"[..], b"\xff\xfe"] {
        fs::write(&file, wrong).expect("the file can be written");
        let state = read(&file).expect("it can be set aside");
        let alarm = state.alarm.expect("there is an alarm");
        assert!(alarm.contains(&format!("`{}`", file.display())), "{alarm}");
        assert!(state.changes.rollout.is_empty() && !file.exists());
        let aside = fs::read(dir.path().join("live.toml.unreadable"));
        assert_eq!(aside.expect("it is set aside"), wrong);
    }
}

#[test]
fn a_file_that_cannot_be_read_stays_and_raises_an_alarm() {
    let dir = TempDir::new().expect("a directory can be made");
    let state = read(dir.path()).expect("nothing needs to be set aside");
    assert!(state.alarm.is_some() && dir.path().is_dir());
}

#[test]
fn no_file_means_no_overrides_and_no_alarm() {
    let dir = TempDir::new().expect("a directory can be made");
    let state = read(&dir.path().join("live.toml")).expect("nothing is wrong");
    assert!(state.alarm.is_none() && state.changes.rollout.is_empty());
}

#[test]
fn what_was_written_is_read_back() {
    let dir = TempDir::new().expect("a directory can be made");
    let file = dir.path().join("live.toml");
    fs::write(&file, "[rollout.news]\nrollout = 0.5\nkilled = true\n").expect("it is written");
    let Changes { rollout } = read(&file).expect("nothing is wrong").changes;
    let news = rollout["news"];
    assert_eq!((news.rollout, news.hold_out, news.killed), (Some(0.5), None, Some(true)));
}
