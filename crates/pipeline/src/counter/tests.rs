//! Claims about the lines of a batch under way, and about the memory of their windows.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use stdx::FaultyDisk;

use super::*;
use crate::batch::CellValue;
use crate::config::{RollupConfig, SinkConfig};
use crate::decode::{Format, LineFormat};
use crate::plan::{Sections, plan};

fn counter() -> LineCounter {
    let (name, url) = (Some("main".into()), Some("sqlite:x".into()));
    let sinks = vec![SinkConfig { name, url, ..SinkConfig::default() }];
    let by = |name: &str, field: &str| RollupConfig {
        name: Some(name.to_owned()),
        by: vec![field.to_owned()],
        ..RollupConfig::default()
    };
    let rollups = vec![by("paths", "path"), by("takes", "total")];
    let sections = Sections { rollups, sinks, ..Sections::default() };
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    let plan = plan(&sections, Path::new("."), true, wrong);
    let windows = plan.rollups.iter().map(|plan| Window::new(Arc::clone(&plan.rollup), "n", "s"));
    let (status, disk) = (Arc::<Status>::default(), Arc::new(FaultyDisk::new(1)));
    let quarantine = Quarantine::new("/q/file".into(), disk, 1 << 20, Arc::clone(&status));
    let decoder = Decoder::new(&Format::from(LineFormat::Common), Arc::default());
    LineCounter { decoder, windows: windows.collect(), quarantine, status, lines: 0 }
}

/// Counts a line for each path.
fn count(counter: &mut LineCounter, paths: usize) {
    let line = |n| format!("::1 - - [21/Nov/2026:10:00:07 +0000] \"GET /{n} HTTP/1.1\" 200 1\n");
    let text: String = (0..paths).map(line).collect();
    counter.count(LogChunk { file: "a.log", bytes: text.as_bytes(), start: 0 });
}

fn room(rows: &[TableRows]) -> usize {
    rows.iter().map(|rows| rows.cells.capacity()).max().unwrap_or(0)
}

#[test]
fn each_line_is_counted_once_as_an_event_or_as_refused() {
    let mut counter = counter();
    count(&mut counter, 3);
    let torn = LogChunk { file: "a.log", bytes: b"nonsense\n\n", start: 0 };
    counter.count(torn);
    counter.refuse(LogChunk { bytes: b"beginning", ..torn }, &LineError::Torn, 1_000);
    assert_eq!(counter.lines, 6);
    let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let bytes = 3 * 61 + 10 + 1_000;
    assert_eq!((get(&counter.status.lines), get(&counter.status.bytes)), (6, bytes));
    assert_eq!(get(&counter.status.quarantined), 3);
    assert_eq!(get(&counter.status.last_line_us), 1_795_255_207_000_000);
    let (rows, quarantine) = counter.take(usize::MAX);
    assert_eq!((rows[0].len(), rows[1].len(), quarantine.is_some()), (3, 0, true));
    assert!(rows[0].row(2).eq([CellValue::Text(b"/2"), CellValue::Integer(1)]));
    assert_eq!((counter.lines, get(&counter.status.without_key)), (0, 3), "they have no total");
    let (rows, quarantine) = counter.take(usize::MAX);
    assert!(rows.iter().all(TableRows::is_empty) && quarantine.is_none());
    assert_eq!(get(&counter.status.without_key), 3);
}

#[test]
fn windows_keep_the_memory_that_they_may_and_no_more() {
    let mut counter = counter();
    count(&mut counter, 1_000);
    // Those that wait for their rows come on top.
    let bytes = counter.bytes();
    assert!(bytes > 900 * 32, "{bytes}");
    let rows = counter.take(bytes).0;
    assert!(room(&rows) > 2_000, "what is allowed is kept");
    let delivered: usize = rows.iter().map(TableRows::bytes).sum();
    counter.recycle(rows, delivered);
    counter.take(usize::MAX);
    let rows = counter.take(usize::MAX).0;
    assert!(room(&rows) >= 2_000, "it is filled again");
    count(&mut counter, 1_000);
    let bytes = counter.bytes();
    let rows = counter.take(bytes - 1).0;
    assert_eq!(room(&rows), 2_000, "nothing is spare");
    counter.recycle(rows, delivered - 1);
    counter.take(usize::MAX);
    assert_eq!(room(&counter.take(usize::MAX).0), 0);
    count(&mut counter, 1_000);
    let rows = counter.take(usize::MAX).0;
    counter.recycle(rows, usize::MAX);
    counter.release();
    counter.take(usize::MAX);
    assert_eq!(room(&counter.take(usize::MAX).0), 0, "a flush found no line");
}
