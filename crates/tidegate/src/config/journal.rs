//! The section `[journal]`: what it may say, and what the journal is to do.
//!
//! Invariant: a word that is none of its few, and a secret without its use, are problems, never
//! taken for a default. Doc comments are the printed reference, with the defaults.

use std::path::Path;
use std::time::Duration;

use chassis::config::Document;
use journal::{Keep, OnFull, Sync};
use schemars::JsonSchema;
use serde::Deserialize;
use stdx::{ByteSize, Span};

use super::values::value;
use crate::recorded::{self, Redaction};

/// The access log as a queue.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct JournalConfig {
    /// Directory; default `data/journal`.
    pub dir: Option<String>,
    /// How often records reach the disk, such as `1s` (default), or `always`: then collection
    /// routes answer after fsync.
    pub sync: Option<String>,
    /// What is kept.
    pub keep: Option<KeepConfig>,
    /// What happens when the disk is full: `serve` (default) counts what is not recorded, `refuse`
    /// answers 503 on collection routes.
    pub on_full: Option<String>,
    /// Size at which a segment is sealed; default `64MB`.
    pub segment_bytes_max: Option<String>,
    /// `full` (default), or `truncate`, which leaves out the last byte of an IPv4 address and the
    /// last ten of an IPv6 address.
    pub client_ip: Option<String>,
    /// `plain` (default) or `hash`: user ids are recorded as keyed hashes. Profiles are built and
    /// looked up by the same hashes. Such a profile file does not serve Varnish.
    pub user: Option<String>,
    /// Key of the hash; needed with `user = "hash"`.
    pub user_key: Option<String>,
    /// Fields of the query whose values are recorded as `redacted`, also in `Referer`. Default:
    /// `token`, `password`, `key`, `signature` and the like; docs/operating/security.md lists them.
    pub redact: Option<Vec<String>>,
}

/// What the journal keeps.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct KeepConfig {
    /// Age of the oldest segment; default `14d`.
    pub age: Option<String>,
    /// Bytes of all segments; default `20GB`.
    pub bytes: Option<String>,
}

/// The journal as meant.
#[derive(Clone)]
pub(crate) struct JournalPlan {
    /// Options of the journal itself.
    pub options: journal::Options,
    /// Addresses are cut.
    pub truncate_ip: bool,
    /// Key of user ids' hashes.
    pub user_key: Option<String>,
    /// What is taken out of what is recorded.
    pub redaction: Redaction,
}

/// Checks the section, whose relative paths start at `root`.
pub(super) fn check(
    config: JournalConfig,
    root: &Path,
    document: &mut Document<'_>,
) -> JournalPlan {
    let sync = match config.sync.as_deref() {
        Some("always") => Sync::Always,
        Some(text) if !text.starts_with(|first: char| first.is_ascii_digit()) => {
            let reason = format!("`{text}` is neither `always` nor a length of time such as `1s`");
            document.wrong("journal.sync", reason);
            Sync::Always
        }
        _ => {
            let interval = value(document, ("journal.sync", config.sync), Span::above_zero);
            Sync::Interval(interval.unwrap_or(Duration::from_secs(1)))
        }
    };
    let keep = config.keep.unwrap_or_default();
    let age = value(document, ("journal.keep.age", keep.age), Span::above_zero);
    let age = age.unwrap_or(Duration::from_secs(14 * 86_400));
    let bytes = value(document, ("journal.keep.bytes", keep.bytes), ByteSize::above_zero);
    let bytes = bytes.unwrap_or(20_000_000_000);
    let on_full = match config.on_full.as_deref() {
        None | Some("serve") => OnFull::Serve,
        Some("refuse") => OnFull::Refuse,
        Some(other) => {
            document.wrong("journal.on_full", format!("`{other}` is none of serve, refuse"));
            OnFull::Serve
        }
    };
    let truncate_ip = match config.client_ip.as_deref() {
        None | Some("full") => false,
        Some("truncate") => true,
        Some(other) => {
            document.wrong("journal.client_ip", format!("`{other}` is none of full, truncate"));
            false
        }
    };
    let user_key = match (config.user.as_deref(), config.user_key) {
        (None | Some("plain"), None) => None,
        (Some("hash"), Some(key)) if !key.trim().is_empty() => Some(key),
        (Some("hash"), Some(_)) => {
            document.wrong("journal.user_key", "is empty; write a secret of random characters");
            None
        }
        (Some("hash"), None) => {
            document.wrong("journal.user", "`hash` needs a secret `user_key`");
            None
        }
        (None | Some("plain"), Some(_)) => {
            document.wrong("journal.user_key", "goes with `user = \"hash\"`");
            None
        }
        (Some(other), _) => {
            document.wrong("journal.user", format!("`{other}` is none of plain, hash"));
            None
        }
    };
    let dir = root.join(config.dir.as_deref().unwrap_or("data/journal"));
    let segment = ("journal.segment_bytes_max", config.segment_bytes_max);
    let segment = value(document, segment, ByteSize::above_zero);
    let mut options = journal::Options::new(dir);
    options.sync = sync;
    options.keep = Keep { age, bytes };
    options.on_full = on_full;
    options.segment_bytes_max = segment.unwrap_or(64_000_000);
    let names = config.redact.unwrap_or_else(|| recorded::NAMES.map(str::to_owned).to_vec());
    let redaction = Redaction::new(&names, user_key.is_some());
    JournalPlan { options, truncate_ip, user_key, redaction }
}
