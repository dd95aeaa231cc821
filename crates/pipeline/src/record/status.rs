//! Keeps what the edge process knows of the record process that it started, and says what an
//! operator should look at.
//!
//! It holds the last document that the record process wrote of itself, and how its last run ended.
//! Alarms follow from these, by monotonic time alone: an end, silence of 10 s, a pipeline with a
//! `last_error`, also one that stands by. Lines that were lost within a day are one, too, and each
//! file that cannot be read. Invariant: a document counts only if the process that runs wrote it,
//! by its process id. A line that is no JSON, or longer than 4 MiB, is passed over. Before the
//! first document there is no alarm of silence. It relies on keys of `board`: `pid`, `pipelines`
//! with `source`, `sink`, `last_error`, `lost_bytes`, `unmeasured_losses` and `lost_s_ago`,
//! `unreadable`, `learned` and `unkept_losses`. The last outlive the process that found them.
//! What `status` makes is `record` on `/status`; `tidegate/src/events/status.rs` reads `document`
//! in it. `tidegate/src/profile_build.rs` reads what is under `learned`. Never here: starting and
//! stopping (`supervisor`).

use std::io::{BufRead, BufReader, Read};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::losses::LogLoss;

/// How long an end is an alarm when the next process lives.
const END_ALARM_TIME: Duration = Duration::from_secs(60);
/// A process that writes nothing for so long is an alarm.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// How long lost lines are an alarm, in seconds; they stay counted.
const LOST_ALARM_S: f64 = 86_400.0;
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;

/// What is known of the record process, shared with those who ask.
#[derive(Debug, Default)]
pub struct RecordStatus(Mutex<RecordState>);

#[derive(Debug, Default)]
struct RecordState {
    pid: Option<u32>,
    restarts: u64,
    /// How the last one ended, and when.
    end: Option<(String, Instant)>,
    /// The last document of the one that runs, and when it came.
    document: Option<(Value, Instant)>,
    /// What earlier ones found and could not write, until it is taken.
    unkept: Vec<LogLoss>,
}

impl RecordStatus {
    /// For the status page.
    pub fn status(&self) -> Value {
        self.0.lock().status(Instant::now())
    }

    /// How its last build of profiles went; null when it has said nothing of one.
    pub fn profile_build(&self) -> Value {
        let state = self.0.lock();
        state.document.as_ref().map_or(Value::Null, |(document, _)| document["learned"].clone())
    }

    /// What an operator should look at.
    pub fn alarms(&self) -> Vec<String> {
        self.0.lock().alarms(Instant::now())
    }

    /// Takes the losses that the processes found so far and could not write.
    pub fn take_unkept_losses(&self) -> Vec<LogLoss> {
        self.0.lock().take_unkept()
    }

    /// A process runs from now on.
    pub(super) fn started(&self, pid: u32) {
        self.0.lock().pid = Some(pid);
    }

    /// That process has ended, or cannot be waited for.
    pub(super) fn stopped(&self) {
        let mut state = self.0.lock();
        let unkept = state.take_unkept();
        (state.pid, state.document, state.unkept) = (None, None, unkept);
    }

    /// It ended for `reason`, though nobody wanted that, and is started again.
    pub(super) fn ended(&self, reason: String) {
        let mut state = self.0.lock();
        state.end = Some((reason, Instant::now()));
        state.restarts += 1;
    }

    /// Keeps the last document that comes on `stdout`, until that ends.
    pub(super) fn follow(&self, stdout: impl Read) {
        let mut stdout = BufReader::new(stdout);
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = stdout.by_ref().take(DOCUMENT_BYTES_MAX).read_until(b'\n', &mut line);
            if matches!(read, Ok(0) | Err(_)) {
                return;
            }
            if let Ok(document) = serde_json::from_slice::<Value>(&line) {
                self.0.lock().take(document, Instant::now());
            }
        }
    }
}

impl RecordState {
    /// Keeps `document` when the process that runs wrote it.
    fn take(&mut self, document: Value, now: Instant) {
        if self.pid.map(Value::from).as_ref() == Some(&document["pid"]) {
            self.document = Some((document, now));
        }
    }

    fn take_unkept(&mut self) -> Vec<LogLoss> {
        let mut unkept = std::mem::take(&mut self.unkept);
        if let Some((document, _)) = &self.document {
            let losses = Vec::<LogLoss>::deserialize(&document["unkept_losses"]);
            unkept.extend(losses.unwrap_or_default());
        }
        unkept
    }

    fn status(&self, now: Instant) -> Value {
        let age = |at: &Instant| now.saturating_duration_since(*at);
        json!({
            "running": self.pid.is_some(), "pid": self.pid, "restarts": self.restarts,
            "last_end": self.end.as_ref().map(|(reason, _)| reason),
            "last_end_s_ago": self.end.as_ref().map(|(_, at)| age(at).as_secs()),
            "document_s_ago": self.document.as_ref().map(|(_, at)| age(at).as_secs_f64()),
            "document": self.document.as_ref().map(|(document, _)| document),
        })
    }

    fn alarms(&self, now: Instant) -> Vec<String> {
        let age = |at: &Instant| now.saturating_duration_since(*at);
        let mut alarms = Vec::new();
        if let Some((reason, at)) = &self.end
            && (self.pid.is_none() || age(at) < END_ALARM_TIME)
        {
            let state = if self.pid.is_some() { "runs again" } else { "is not running" };
            alarms.push(format!("the record process ended by {reason}, and {state}"));
        }
        if let Some((document, at)) = &self.document {
            if self.pid.is_some() && age(at) > SILENCE_MAX {
                let seconds = age(at).as_secs();
                alarms.push(format!("the record process has said nothing for {seconds} s"));
            }
            alarms.extend(document_alarms(document));
        }
        alarms
    }
}

/// What a document of the record process gives cause for.
pub(super) fn document_alarms(document: &Value) -> Vec<String> {
    let pipelines = document["pipelines"].as_array().into_iter().flatten();
    pipelines.flat_map(pipeline_alarms).collect()
}

fn pipeline_alarms(pipeline: &Value) -> Vec<String> {
    let word = |name: &str| pipeline[name].as_str();
    let (Some(source), Some(sink)) = (word("source"), word("sink")) else { return Vec::new() };
    let error = word("last_error").map(str::to_owned);
    let is_recent = pipeline["lost_s_ago"].as_f64().is_some_and(|ago| ago < LOST_ALARM_S);
    let number = |name: &str| pipeline[name].as_u64().unwrap_or(0);
    let bytes = match (number("lost_bytes"), number("unmeasured_losses")) {
        (bytes, 0) => format!("{bytes} bytes"),
        (0, _) => "bytes whose number is not known".to_owned(),
        (bytes, _) => format!("more than {bytes} bytes"),
    };
    let lost = is_recent.then(|| format!("{bytes} were gone before they were read"));
    let unread = pipeline["unreadable"].as_object().into_iter().flatten();
    let unread =
        unread.map(|(file, reason)| format!("`{file}`: {}", reason.as_str().unwrap_or_default()));
    let alarms = error.into_iter().chain(lost).chain(unread);
    alarms.map(|alarm| format!("{source} to {sink}: {alarm}")).collect()
}

#[cfg(test)]
mod tests;
