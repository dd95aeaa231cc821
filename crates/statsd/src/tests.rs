//! What tests share: the log of what a test does.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Returns the lines that are logged on this thread meanwhile, each with its fields.
pub(crate) fn logged(act: impl FnOnce()) -> Vec<String> {
    let lines = Arc::default();
    tracing::subscriber::with_default(LogLines(Arc::clone(&lines)), act);
    let lines = lines.lock().expect("no test panicked meanwhile");
    lines.clone()
}

struct LogLines(Arc<Mutex<Vec<String>>>);

impl Subscriber for LogLines {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = LogLine(String::new());
        event.record(&mut line);
        self.0.lock().expect("no test panicked meanwhile").push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct LogLine(String);

impl Visit for LogLine {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{}={value:?};", field.name());
    }
}
