//! Lists how long a supervisor waits for what, and how often it looks: one table of constants.
//!
//! What a configuration may set is in the [`Plan`](crate::plan::Plan) instead. Bounds that only one
//! file needs are there: `listen.rs`, `watch.rs`, `pace.rs`.
//! Plain data; most files beside it make deadlines of it, or compare with it. Headers repeat
//! numbers: those of `exits.rs`, `processes.rs`, `reaper.rs`, `supervisor.rs`, `supervise.rs` and
//! `lib.rs`.
//! `UNANSWERED_MAX` is printed as seconds (`deadlines.rs`), so `PING_INTERVAL` must stay 1 second.

use std::time::Duration;

/// Between two looks at the deadlines.
pub(super) const TIMER_INTERVAL: Duration = Duration::from_millis(100);
/// Between two pings of a process.
pub(super) const PING_INTERVAL: Duration = Duration::from_secs(1);
/// Between two measurements of memory.
pub(super) const MEASURE_INTERVAL: Duration = Duration::from_secs(5);
/// Between two measurements of memory that a limit depends on.
pub(super) const LIMITED_MEASURE_INTERVAL: Duration = Duration::from_secs(1);

/// A process or a generation that lived so long was sound.
pub(super) const SOUND_AFTER: Duration = Duration::from_secs(10);

/// From the order to end to SIGKILL, for a preload process or a parent.
pub(super) const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
/// From SIGTERM to SIGKILL, for a worker.
pub(super) const TERM_TIMEOUT: Duration = Duration::from_secs(2);
/// From asking a worker where it hangs to SIGKILL.
pub(super) const LAST_WORDS_TIMEOUT: Duration = Duration::from_millis(300);
/// From the end of a worker's control connection to SIGKILL.
pub(super) const HUNG_UP_TIMEOUT: Duration = Duration::from_secs(1);
/// What the end of a pool may take beyond the time to drain.
pub(super) const END_TIMEOUT: Duration = Duration::from_secs(10);

/// From the end of a process to the end of its control connection. An app may have forked a
/// process that holds the connection open.
pub(super) const LAST_MESSAGE_TIMEOUT: Duration = Duration::from_millis(200);
/// From the end of a process to its last printed line.
pub(super) const LAST_LINE_TIMEOUT: Duration = Duration::from_millis(100);
/// From the end of a process to its exit status, which its parent reports; later it never comes.
pub(super) const STATUS_TIMEOUT: Duration = Duration::from_secs(1);
/// From the end of a worker to the end of what its app has forked.
pub(super) const ORPHANS_TIMEOUT: Duration = Duration::from_secs(10);

/// Pings that an idle worker may leave unanswered.
pub(super) const UNANSWERED_MAX: u64 = 5;
/// Pings that a preload process or a parent may leave unanswered: it forks meanwhile.
pub(super) const UNANSWERED_WHILE_FORKING_MAX: u64 = 30;

/// Between two exceptions of the app that are logged; an app may raise in every request.
pub(super) const ERROR_LOG_INTERVAL: Duration = Duration::from_millis(200);
