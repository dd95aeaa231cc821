//! Claims about writers that take turns, and about what stands in `checkpoints.json`.

use pipeline::TableRows;

use super::*;

fn file_sink(dir: &Path, lock_timeout: Duration) -> FileSink {
    FileSink { lock_timeout, ..FileSink::new(&dir.join("out"), Format::Ndjson) }
}

/// Takes the lock, as an operator or another process does.
fn lock(dir: &Path) -> File {
    fs::create_dir_all(dir.join("out")).unwrap();
    let file = plain_file::append(&dir.join("out/lock")).unwrap();
    file.try_lock().unwrap();
    file
}

/// How often this process has the file open.
fn times_open(path: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    let names = open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    names.filter(|name| name == path).count()
}

#[test]
fn a_writer_waits_for_the_one_that_has_the_lock() {
    let dir = TempDir::new().unwrap();
    let lock = lock(dir.path());
    let path = fs::canonicalize(dir.path()).unwrap().join("out/lock");
    std::thread::scope(|scope| {
        let outcome = scope.spawn(|| {
            // A time that only a failing test waits for.
            let mut sink = file_sink(dir.path(), Duration::from_secs(60));
            sink.deliver(&batch(1, one("/a", 1)))
        });
        while times_open(&path) < 2 {
            assert!(!outcome.is_finished(), "it waits for the lock");
            std::thread::yield_now();
        }
        drop(lock);
        outcome.join().unwrap().unwrap();
    });
    assert_eq!(read("ndjson", dir.path()), expected("ndjson", &[1]));
}

#[test]
fn a_writer_that_has_waited_in_vain_names_the_lock_and_has_written_nothing() {
    let dir = TempDir::new().unwrap();
    let lock = lock(dir.path());
    let mut sink = file_sink(dir.path(), Duration::ZERO);
    let error = sink.deliver(&batch(1, one("/a", 1))).unwrap_err();
    assert!(matches!(error, SinkError::Unreachable { engine: "ndjson", .. }), "{error}");
    assert!(error.to_string().contains("another process holds `"), "{error}");
    assert!(!dir.path().join("out/counts.ndjson").exists());
    drop(lock);
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
}

#[test]
fn every_node_and_source_has_a_checkpoint_of_its_own() {
    let dir = TempDir::new().unwrap();
    let mut sink = sink("ndjson", dir.path());
    let of = |node: &str, source: &str, sequence: u64| {
        let mut batch = batch(sequence, one("/a", 1));
        node.clone_into(&mut batch.checkpoint.node);
        source.clone_into(&mut batch.checkpoint.source);
        batch
    };
    for sequence in 1..=2 {
        for (node, source) in [("n1", "web"), ("n2", "web"), ("n1", "app")] {
            sink.deliver(&of(node, source, sequence)).unwrap();
        }
    }
    let expected = ["n1", "n2"].map(|node| of(node, "web", 2).checkpoint);
    assert_eq!(sink.checkpoints("web").unwrap(), expected);
    assert_eq!(sink.checkpoints("app").unwrap(), [of("n1", "app", 2).checkpoint]);
    assert_eq!(sink.checkpoints("none").unwrap(), []);
    for (sequence, expected) in [(2, 1), (4, 3)] {
        let fenced = sink.deliver(&of("n2", "web", sequence)).unwrap_err();
        let SinkError::Fenced { source_name, stored, expected: found } = fenced else {
            panic!("{fenced}")
        };
        assert_eq!((source_name.as_str(), stored, found), ("web", 2, expected));
    }
    let error = sink.deliver(&of("n3", "app", 2)).unwrap_err();
    assert!(matches!(error, SinkError::Fenced { stored: 0, expected: 1, .. }), "{error}");
}

#[test]
fn a_batch_without_rows_of_a_table_makes_no_file() {
    let dir = TempDir::new().unwrap();
    let mut sink = sink("csv", dir.path());
    sink.deliver(&batch(1, TableRows::new(counts()))).unwrap();
    assert!(!dir.path().join("out/counts.csv").exists());
    assert_eq!(sink.checkpoints("web").unwrap(), [checkpoint(1)]);
}

#[test]
fn checkpoints_that_cannot_be_read_stop_the_delivery() {
    let dir = TempDir::new().unwrap();
    let mut sink = sink("ndjson", dir.path());
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
    let path = dir.path().join("out/checkpoints.json");
    for (text, hint) in [
        ("", "hint: it is never written in part, restore it"),
        ("{\"checkpoints\":[],\"files\":{},\"more\":1}", "unknown field `more`"),
    ] {
        fs::write(&path, text).unwrap();
        let error = sink.deliver(&batch(1, one("/a", 1))).unwrap_err();
        assert!(matches!(error, SinkError::Refused { .. }), "{error}");
        assert!(error.to_string().contains(hint), "{error}");
    }
    // A thing that is there and is no file says nothing about what was delivered.
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    for outcome in [sink.deliver(&batch(1, one("/a", 1))), sink.checkpoints("web").map(drop)] {
        let error = outcome.unwrap_err();
        assert!(matches!(error, SinkError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("checkpoints.json"), "{error}");
    }
    assert_eq!(read("ndjson", dir.path()), expected("ndjson", &[1]));
}

#[test]
fn a_file_without_a_line_is_shown_by_its_beginning() {
    let dir = TempDir::new().unwrap();
    let mut sink = sink("csv", dir.path());
    sink.deliver(&batch(1, one("/a", 1))).unwrap();
    fs::write(dir.path().join("out/counts.csv"), "x".repeat(1 << 20)).unwrap();
    let error = sink.prepare(&[counts()]).unwrap_err();
    assert!(matches!(error, SinkError::Refused { engine: "csv", .. }), "{error}");
    let shown = error.to_string().matches('x').count();
    assert!((4096..5000).contains(&shown), "{shown}");
}
