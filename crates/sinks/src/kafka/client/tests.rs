//! Claims about what librdkafka says.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use rdkafka::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::RDKafkaErrorCode;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

/// Levels and fields of the events, one a line.
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
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().unwrap().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

#[test]
fn what_librdkafka_says_is_in_the_log_and_only_trouble_is_a_warning() {
    use RDKafkaLogLevel::{Alert, Critical, Debug, Emerg, Error, Info, Notice, Warning};
    let lines = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(LogLines(Arc::clone(&lines)), || {
        for level in [Debug, Info, Notice, Warning, Error, Critical, Alert, Emerg] {
            KafkaLog.log(level, "FAIL", "broker is down");
        }
        KafkaLog.error(KafkaError::Global(RDKafkaErrorCode::AllBrokersDown), "1/1 brokers");
    });
    let lines = lines.lock().unwrap();
    let levels: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(levels, [&["DEBUG"; 3][..], &["WARN"; 6]].concat());
    assert!(lines[3].contains("FAIL") && lines[3].contains("broker is down"), "{lines:?}");
    assert!(lines[8].contains("1/1 brokers"), "{lines:?}");
}
