//! The lines of each kind, and that they are appended wherever the file is by then.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::Appender;
use crate::backend::delivery::{Render as _, Transport as _};
use crate::budget::Budget;
use crate::config::{self, Config};
use crate::flush::{Flush, FlushedTimer};
use crate::members::Members;
use crate::plan::Plan;
use crate::samples::Samples;
use crate::status::BackendStatus;

fn appender(path: &Path) -> Appender {
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    let plan = config::plan(&Config::default(), Path::new("/nowhere"), wrong);
    Appender::new(path, &Plan { self_prefix: "own".to_owned(), ..plan })
}

fn flush() -> Flush {
    let mut members = Members::default();
    for member in [&b"y"[..], b"x", b"z"] {
        members.add(member, b"s", &Budget::new("statsd", 1 << 20, &[]), true);
    }
    let timer = |name: &str, statistics: &[(&'static str, f64)]| FlushedTimer {
        name: name.into(),
        samples: Samples::default(),
        statistics: statistics.iter().map(|(name, number)| ((*name).into(), *number)).collect(),
    };
    Flush {
        counters: vec![("c".into(), 2.75), ("own.c".into(), 1.0), ("owner".into(), 1.0)],
        timers: vec![timer("t", &[("count", 9.0), ("mean", 0.5)]), timer("u", &[("count", 0.0)])],
        gauges: vec![("g".into(), -1.5), ("own.g".into(), 1.0)],
        sets: vec![("s".into(), members)],
        ..Flush::default()
    }
}

#[test]
fn each_kind_has_its_line_and_the_server_itself_none() {
    let mut parts = Vec::new();
    let mut each = |part: &[u8]| {
        parts.push(String::from_utf8(part.to_vec()).expect("text"));
        Ok(())
    };
    let (appender, status) = (appender(Path::new("/nowhere")), BackendStatus::started());
    appender.parts(&Flush::default(), &status, &mut each).expect("it is taken");
    appender.parts(&flush(), &status, &mut each).expect("it is taken");
    let lines = "c\tc\t2\nc\towner\t1\nt\tt\t0.500000\nt\tu\t0.000000\ng\tg\t-1.500000\n\
                 s\ts\tx;y;z\n";
    assert_eq!(parts, [lines], "an empty flush has no part");
}

#[test]
fn parts_are_appended_to_the_file_that_is_there_by_then() {
    let folder = TempDir::new().expect("a folder");
    let (path, moved) = (folder.path().join("out"), folder.path().join("moved"));
    let mut appender = appender(&path);
    appender.send(b"one\n").expect("there is room");
    appender.send(b"two\n").expect("there is room");
    fs::rename(&path, &moved).expect("it is there");
    appender.send(b"three\n").expect("there is room");
    appender.end().expect("there is nothing to end");
    assert!(!appender.confirms());
    let read = |path: &Path| fs::read_to_string(path).expect("it is there");
    assert_eq!((read(&moved).as_str(), read(&path).as_str()), ("one\ntwo\n", "three\n"));
}
