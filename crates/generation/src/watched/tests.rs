//! Faults made with real files: the loader reads text that must end in `end`.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

/// Accepts text that ends in `end`; the full check rejects text with `rotten` in it.
#[derive(Default)]
struct Text {
    loads: Arc<AtomicUsize>,
    broken: Arc<AtomicBool>,
}

impl Load<String> for Text {
    fn load(&self, path: &Path, _last: Option<&String>) -> Result<String, Failure> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        if self.broken.load(Ordering::Relaxed) {
            return Err("no descriptors left".into());
        }
        let text = fs::read_to_string(path)?;
        if text.ends_with("end") { Ok(text) } else { Err("the text has no end".into()) }
    }

    fn verify(&self, value: &String, _stop: &Stop) -> Result<(), Failure> {
        if value.contains("rotten") { Err("rotten inside".into()) } else { Ok(()) }
    }
}

struct Fixture {
    folder: tempfile::TempDir,
    path: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watched.txt");
        Self { folder, path }
    }

    fn holding(text: &str) -> Self {
        let fixture = Self::new();
        fixture.publish(text);
        fixture
    }

    fn publish(&self, text: &str) {
        let other = self.folder.path().join("other.txt");
        fs::write(&other, text).unwrap();
        fs::rename(&other, &self.path).unwrap();
    }

    fn watch(&self) -> Watched<String> {
        Watched::open(&self.path, Text::default())
    }
}

fn in_use<T: Clone + Send + Sync + 'static>(watched: &Watched<T>) -> Option<T> {
    watched.current().map(|generation| generation.value.clone())
}

#[test]
fn has_no_generation_until_a_file_appears() {
    let fixture = Fixture::new();
    let watched = fixture.watch();
    assert!(watched.current().is_none());
    let status = watched.status();
    assert_eq!(status.failures, 1);
    assert!(status.problem.unwrap().message.contains("No such file"));

    fixture.publish("one end");
    assert_eq!(watched.poll(), Polled::Swapped(1));
    assert_eq!(in_use(&watched).unwrap(), "one end");
    assert!(watched.status().problem.is_none());
}

#[test]
fn missing_file_counts_once_however_often_it_is_polled() {
    let fixture = Fixture::new();
    let watched = fixture.watch();
    for _ in 0..5 {
        watched.poll();
    }
    assert_eq!(watched.status().failures, 1);
}

#[test]
fn swaps_whole_on_atomic_rename() {
    let fixture = Fixture::holding("one end");
    let watched = fixture.watch();
    let first = watched.current().unwrap();
    fixture.publish("two end");
    assert_eq!(watched.poll(), Polled::Swapped(2));
    let second = watched.current().unwrap();
    assert_eq!((second.value.as_str(), second.number), ("two end", 2));
    assert_eq!(first.value, "one end");
    assert_ne!(first.source, second.source);
    assert_eq!(second.source, FileVersion::at(&fixture.path).unwrap());
}

#[test]
fn loads_an_unchanged_file_once() {
    let fixture = Fixture::holding("one end");
    let loader = Text::default();
    let loads = loader.loads.clone();
    let watched = Watched::open(&fixture.path, loader);
    for _ in 0..5 {
        assert_eq!(watched.poll(), Polled::Unchanged);
    }
    assert_eq!(loads.load(Ordering::Relaxed), 1);
}

#[test]
fn sees_an_overwrite_in_place() {
    let fixture = Fixture::holding("one end");
    let watched = fixture.watch();
    fs::write(&fixture.path, "another end").unwrap();
    assert_eq!(watched.poll(), Polled::Swapped(2));
    assert_eq!(in_use(&watched).unwrap(), "another end");
}

#[test]
fn keeps_the_last_good_through_truncation_garbage_and_deletion() {
    let fixture = Fixture::holding("one end");
    let watched = fixture.watch();
    let faults: [&dyn Fn(); 3] = [
        &|| fs::OpenOptions::new().write(true).open(&fixture.path).unwrap().set_len(3).unwrap(),
        &|| fs::write(&fixture.path, [0xff, 0xfe, 0]).unwrap(),
        &|| fs::remove_file(&fixture.path).unwrap(),
    ];
    for (number, fault) in faults.iter().enumerate() {
        fault();
        assert_eq!(watched.poll(), Polled::Refused);
        assert_eq!(in_use(&watched).unwrap(), "one end");
        let status = watched.status();
        assert_eq!(status.failures, number as u64 + 1);
        assert!(status.problem.is_some() && status.generation == Some(1));
    }
    fixture.publish("restored end");
    assert_eq!(watched.poll(), Polled::Swapped(2));
    let status = watched.status();
    assert!(status.problem.is_none() && status.last_problem.is_some());
}

#[test]
fn accepts_a_file_copied_in_pieces_once_it_is_whole() {
    let fixture = Fixture::holding("one end");
    let watched = fixture.watch();
    let mut written = String::new();
    for piece in ["a long", " text that", " comes to its end"] {
        written.push_str(piece);
        fs::write(&fixture.path, &written).unwrap();
        let whole = written.ends_with("end");
        let expected = if whole { Polled::Swapped(2) } else { Polled::Refused };
        assert_eq!(watched.poll(), expected, "{written}");
    }
    assert_eq!(in_use(&watched).unwrap(), written);
}

#[test]
fn file_moved_away_and_back_needs_no_second_load() {
    let fixture = Fixture::holding("one end");
    let watched = fixture.watch();
    let aside = fixture.folder.path().join("aside.txt");
    fs::rename(&fixture.path, &aside).unwrap();
    assert_eq!(watched.poll(), Polled::Refused);
    fs::rename(&aside, &fixture.path).unwrap();
    assert_eq!(watched.poll(), Polled::Unchanged);
    let status = watched.status();
    assert_eq!((status.generation, status.problem.is_none()), (Some(1), true));
}

#[test]
fn refused_file_is_left_alone_until_it_changes_or_the_pause_is_over() {
    let fixture = Fixture::holding("one end");
    let loader = Text::default();
    let (loads, broken) = (loader.loads.clone(), loader.broken.clone());
    broken.store(true, Ordering::Relaxed);
    let patient = Watched::open(&fixture.path, loader);
    assert_eq!(patient.poll(), Polled::Unchanged);
    assert_eq!(loads.load(Ordering::Relaxed), 1);

    let loader = Text { loads, broken: broken.clone() };
    let eager = Watched::open_retrying(&fixture.path, Duration::ZERO, loader);
    assert_eq!(eager.poll(), Polled::Refused);
    broken.store(false, Ordering::Relaxed);
    assert_eq!(eager.poll(), Polled::Swapped(1));
}

#[test]
fn file_replaced_while_loading_is_not_taken_for_either() {
    let fixture = Fixture::holding("one end");
    let replacing = AtomicBool::new(true);
    let other = fixture.folder.path().join("other.txt");
    let loader = move |path: &Path| {
        let text = fs::read_to_string(path)?;
        if replacing.swap(false, Ordering::Relaxed) {
            fs::write(&other, "two end")?;
            fs::rename(&other, path)?;
        }
        Ok::<_, std::io::Error>(text)
    };
    let watched = Watched::open(&fixture.path, loader);
    assert!(watched.current().is_none());
    assert!(watched.status().problem.unwrap().message.contains("changed while"));
    assert_eq!(watched.poll(), Polled::Swapped(1));
    assert_eq!(in_use(&watched).unwrap(), "two end");
}

#[test]
fn loader_that_panics_refuses_its_file() {
    let fixture = Fixture::holding("one end");
    let loader = |path: &Path| {
        let text = fs::read_to_string(path)?;
        assert!(text.contains("end"), "nothing to see in {text}");
        Ok::<_, std::io::Error>(text)
    };
    let watched = Watched::open(&fixture.path, loader);
    fixture.publish("nonsense");
    assert_eq!(watched.poll(), Polled::Refused);
    assert_eq!(in_use(&watched).unwrap(), "one end");
    assert!(watched.status().problem.unwrap().message.contains("nothing to see in nonsense"));
}

#[test]
fn failed_full_check_brings_the_previous_good_one_back() {
    let fixture = Fixture::holding("one end");
    let watched = fixture.watch();
    assert!(watched.verify(&Stop::default()) && watched.status().verified);

    fixture.publish("rotten end");
    assert_eq!(watched.poll(), Polled::Swapped(2));
    assert!(!watched.status().verified);
    assert!(watched.verify(&Stop::default()));
    assert_eq!(in_use(&watched).unwrap(), "one end");
    let status = watched.status();
    assert_eq!((status.generation, status.rollbacks, status.verified), (Some(1), 1, true));
    assert!(status.problem.unwrap().message.contains("generation 2: rotten inside"));
}

#[test]
fn rolled_back_file_is_not_tried_again_until_it_changes() {
    let fixture = Fixture::holding("one end");
    let watched = Watched::open_retrying(&fixture.path, Duration::ZERO, Text::default());
    watched.verify(&Stop::default());
    fixture.publish("rotten end");
    watched.poll();
    watched.verify(&Stop::default());
    assert_eq!(watched.poll(), Polled::Unchanged);
    assert!(!watched.verify(&Stop::default()));

    fixture.publish("three end");
    assert_eq!(watched.poll(), Polled::Swapped(3));
}

#[test]
fn first_generation_that_fails_its_full_check_leaves_none() {
    let fixture = Fixture::holding("rotten end");
    let watched = fixture.watch();
    assert!(watched.current().is_some());
    watched.verify(&Stop::default());
    assert!(watched.current().is_none());
}

#[test]
fn rollback_skips_generations_that_were_never_checked_in_full() {
    let fixture = Fixture::holding("good end");
    let watched = fixture.watch();
    watched.verify(&Stop::default());
    fixture.publish("unchecked end");
    watched.poll();
    fixture.publish("rotten end");
    watched.poll();
    watched.verify(&Stop::default());
    assert_eq!(in_use(&watched).unwrap(), "good end");
}

/// Its full check replaces the file and polls, as a new file that arrives meanwhile would.
struct Overtaken {
    path: PathBuf,
    watched: Arc<Mutex<Option<Arc<Watched<String>>>>>,
}

impl Load<String> for Overtaken {
    fn load(&self, path: &Path, _last: Option<&String>) -> Result<String, Failure> {
        Ok(fs::read_to_string(path)?)
    }

    fn verify(&self, value: &String, _stop: &Stop) -> Result<(), Failure> {
        if value == "new" {
            return Ok(());
        }
        fs::write(&self.path, "new")?;
        let watched = self.watched.lock().clone().unwrap();
        assert!(matches!(watched.poll(), Polled::Swapped(_)));
        Err("the old one is bad".into())
    }
}

#[test]
fn failed_check_of_an_overtaken_generation_leaves_the_newer_in_use() {
    let fixture = Fixture::holding("old");
    let slot = Arc::new(Mutex::new(None));
    let loader = Overtaken { path: fixture.path.clone(), watched: slot.clone() };
    let watched = Arc::new(Watched::open(&fixture.path, loader));
    *slot.lock() = Some(watched.clone());
    watched.verify(&Stop::default());
    assert_eq!(in_use(&watched).unwrap(), "new");
    let status = watched.status();
    assert_eq!((status.rollbacks, status.problem.is_none()), (1, true));
    assert!(watched.verify(&Stop::default()));
    assert!(watched.status().verified);
    *slot.lock() = None;
}

#[test]
fn check_cut_short_by_a_stop_is_no_failure() {
    let fixture = Fixture::holding("rotten end");
    let watched = fixture.watch();
    let stop = Stop::default();
    stop.ask();
    assert!(!watched.verify(&stop));
    assert!(watched.current().is_some());
    assert_eq!(watched.status().failures, 0);
}
