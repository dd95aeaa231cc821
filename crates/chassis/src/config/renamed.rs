//! Lists keys that have been renamed, and keys of gunicorn that have another name here.
//!
//! Invariant: a new name is given only if the table with the unknown key knows that name. So an old
//! name may have a row for each of its meanings, and other tables ignore these rows. Nothing is
//! accepted in place of the new name: `wording` only says it in the error. A key that is renamed
//! needs a row here, and a line in the test of old keys (`tidegate/tests/it/configuration.rs`). A
//! row in `xtask/tidy/words.txt` keeps the old name from coming back, unless another table still
//! has it (`share`). The new name of a secret also goes into `SECRETS` of `commands/redact.rs`.
//! Never here: renamed sections, values, metric labels.

/// Old names, each with the new one. An old name that meant several things is there for each.
const RENAMED: [(&str, &str); 15] = [
    ("batch_tokens", "batch_tokens_max"),
    ("batch_wait", "batch_timeout"),
    ("drain", "drain_timeout"),
    ("embedding_cache", "embedding_cache_bytes_max"),
    ("folder", "dir"),
    ("idle", "idle_timeout"),
    ("memory_max", "memory_bytes_max"),
    ("min_bytes", "bytes_min"),
    ("queue", "queue_max"),
    ("quiet", "idle_timeout"),
    ("receive_buffer", "receive_buffer_bytes"),
    ("share", "share_memory"),
    ("spool", "spool_dir"),
    ("tunnel_idle", "tunnel_idle_timeout"),
    ("wait", "wait_timeout"),
];

/// Keys of gunicorn, each with what does the same here.
const ELSEWHERE: [(&str, &str); 8] = [
    ("backlog", "queue_max"),
    ("chdir", "app_dir"),
    ("graceful_timeout", "drain_timeout"),
    ("max_requests", "requests_max"),
    ("preload_app", "preload"),
    ("raw_env", "environment"),
    ("worker_connections", "concurrency"),
    ("wsgi_app", "python"),
];

/// Returns the name here of a key of gunicorn, if it is among the `known` keys of the same table.
pub(super) fn name_here<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let (_, here) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == name)?;
    known.iter().find(|known| *known == here).copied()
}

/// Returns the new name of a key, if it is among the `known` keys of the same table.
pub(super) fn new_name<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let renamed = RENAMED.iter().filter(|(old, _)| *old == name);
    let mut found = renamed.filter_map(|(_, new)| known.iter().find(|known| *known == new));
    found.next().copied()
}
