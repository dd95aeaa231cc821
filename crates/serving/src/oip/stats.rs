//! Counts what a model that predicts has done, as Triton's extension `statistics` has it.
//!
//! Counts begin at 0 when the process starts, and go on over new generations. Times are those of
//! reading rows, predicting and writing the answer, in nanoseconds. `queue` and the parts of the
//! computation are not told apart, so their counts are 0. An answer that was kept counts for
//! nothing.
//! Rankings and models of texts count elsewhere, and are not told here (`texts/counters.rs`).
//! Source: Triton's `protocol/extension_statistics.md`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

/// Counts of a model.
#[derive(Debug, Default)]
pub(crate) struct InferCounts {
    success: Done,
    failure: Done,
    rows: AtomicU64,
    /// Milliseconds since 1970 of the last request; 0 before the first.
    last_ms: AtomicU64,
}

#[derive(Debug, Default)]
struct Done {
    count: AtomicU64,
    ns: AtomicU64,
}

impl InferCounts {
    /// Counts a request; `rows` are those that were predicted, none after a failure.
    pub(crate) fn add(&self, rows: Option<usize>, took: Duration) {
        let done = if rows.is_some() { &self.success } else { &self.failure };
        done.count.fetch_add(1, Ordering::Relaxed);
        done.ns.fetch_add(took.as_nanos() as u64, Ordering::Relaxed);
        self.rows.fetch_add(rows.unwrap_or_default() as u64, Ordering::Relaxed);
        // A date that clients read.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.last_ms.store(now.as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns the entry of `model_stats`.
    pub(crate) fn as_json(&self, (name, version): (&str, &str)) -> Value {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let done = |done: &Done| json!({"count": read(&done.count), "ns": read(&done.ns)});
        let none = json!({"count": 0, "ns": 0});
        json!({
            "name": name,
            "version": version,
            "last_inference": read(&self.last_ms),
            "inference_count": read(&self.rows),
            "execution_count": read(&self.success.count),
            "inference_stats": {
                "success": done(&self.success),
                "fail": done(&self.failure),
                "queue": none.clone(),
                "compute_input": none.clone(),
                "compute_infer": none.clone(),
                "compute_output": none.clone(),
                "cache_hit": none.clone(),
                "cache_miss": none,
            },
            "batch_stats": [],
        })
    }
}
