//! Recognises what generators print for people: figures, from which no call can be told any more.
//!
//! A row is the marks that all stand in the first 64 KiB, and what is said then; the first row that
//! fits counts. One may be added with marks that no file of calls has.
//! Invariant: each refusal names a command that writes calls, or for wrk their distribution by
//! wrk2. No file is read here.

/// What a summary has within the head, all of it, and what is said of it then.
const SUMMARIES: [(&[&str], &str); 6] = [
    (
        &["Summary:", "Success rate:", "Requests/sec:"],
        "oha's summary has no calls; `oha --output-format csv` writes them",
    ),
    (
        &["Summary:", "Fastest:", "Requests/sec:"],
        "hey's summary has no calls; `hey -o csv` writes them",
    ),
    (
        &["http_req_duration.", "http_reqs."],
        "k6's summary has no calls; `k6 run --out json=FILE` writes them",
    ),
    (
        &["\"metrics\"", "\"http_req_duration", "\"med\""],
        "k6's summary has no calls; `k6 run --out json=FILE` writes them",
    ),
    (
        &["Running ", " test @ ", "Thread Stats"],
        "wrk's summary has no calls; `wrk2 --latency` prints their distribution",
    ),
    (
        &["[total, rate", "Latencies", "Success"],
        "vegeta's report has no calls; `vegeta encode --to csv` writes them",
    ),
];

/// Returns why a file that begins so cannot be reported on, if it is a summary.
pub(super) fn of(head: &[u8]) -> Option<&'static str> {
    let has = |text: &&str| memchr::memmem::find(head, text.as_bytes()).is_some();
    SUMMARIES.iter().find(|(marks, _)| marks.iter().all(has)).map(|(_, reason)| *reason)
}
