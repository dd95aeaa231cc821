//! Loading and unloading, with files that are good or not.

use std::fs;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use testkit::TempDir;

use super::*;

fn slot(dir: &TempDir) -> HotSwap<Watched<String>> {
    let file = dir.path().join("model");
    let load = |path: &std::path::Path| match fs::read_to_string(path)? {
        text if text == "bad" => Err(std::io::Error::other("it is bad")),
        text => Ok(text),
    };
    HotSwap::new(move || Arc::new(Watched::open(&file, load)))
}

fn value(slot: &HotSwap<Watched<String>>) -> Option<String> {
    slot.peek().as_ref()?.current().map(|generation| generation.value.clone())
}

#[test]
fn what_was_unloaded_is_gone_until_it_is_loaded() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("model"), "one").unwrap();
    let slot = slot(&dir);
    assert_eq!(value(&slot).as_deref(), Some("one"));
    slot.unload();
    slot.poll();
    assert_eq!(value(&slot), None);
    slot.load().unwrap();
    assert_eq!(value(&slot).as_deref(), Some("one"));
}

#[test]
fn loading_a_bad_file_says_why_and_leaves_what_is_there() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("model"), "one").unwrap();
    let slot = slot(&dir);
    fs::write(dir.path().join("model"), "bad").unwrap();
    let reason = slot.load().unwrap_err();
    assert!(reason.contains("it is bad"), "{reason}");
    assert_eq!(value(&slot).as_deref(), Some("one"));
}

#[test]
fn a_model_whose_load_failed_is_there_as_soon_as_its_file_is_good() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("model");
    fs::write(&file, "one").unwrap();
    let slot = slot(&dir);
    slot.unload();
    fs::write(&file, "bad").unwrap();
    assert!(slot.load().is_err());
    let problem = slot.peek().as_ref().unwrap().status().problem.unwrap();
    assert!(problem.message.contains("it is bad"), "{}", problem.message);
    fs::write(file.with_extension("new"), "two").unwrap();
    fs::rename(file.with_extension("new"), &file).unwrap();
    slot.poll();
    assert_eq!(value(&slot).as_deref(), Some("two"));
}

#[test]
fn a_load_does_not_bring_back_what_a_poll_has_replaced() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("model");
    fs::write(&file, "one").unwrap();
    let load = |path: &std::path::Path| fs::read_to_string(path);
    let (path, barrier) = (file.clone(), Arc::new(Barrier::new(2)));
    let (is_loading, opened) = (AtomicBool::new(false), Arc::clone(&barrier));
    let slot = HotSwap::new(move || {
        let files = Arc::new(Watched::open(&path, load));
        if is_loading.swap(true, Ordering::Relaxed) {
            opened.wait();
            opened.wait();
        }
        files
    });
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| slot.load());
        barrier.wait();
        fs::write(file.with_extension("new"), "two").unwrap();
        fs::rename(file.with_extension("new"), &file).unwrap();
        slot.poll();
        let seen = value(&slot);
        barrier.wait();
        loading.join().unwrap().unwrap();
        assert!(seen.as_deref() == Some("one") || value(&slot) == seen, "`two` was in use");
    });
    slot.poll();
    assert_eq!(value(&slot).as_deref(), Some("two"));
}
