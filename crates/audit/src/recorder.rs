//! Records actions in a trail and at syslog, and does what was configured where the trail cannot be
//! written.
//!
//! [`ActionRecorder::begin`] writes what is to be done, and [`Begun::end`] its result. An action
//! that is dropped before its end is recorded as given up, or as ended by a panic. Invariants: with
//! [`OnFull::Refuse`] nothing begins that is not on disk. With [`OnFull::Serve`] each action
//! begins, and an alarm says what is wrong until an entry can be written again. Then a note in the
//! trail says how many entries are missing, and since when. A result that cannot be written refuses
//! nothing, for the action is done. Bounds: while the alarm stands, one thread tries again each
//! second. It ends with the recorder. Both functions wait for the disk, so they are not for threads
//! that serve connections.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use stdx::{Chain, Clock, Disk, RealDisk, SystemClock};

use crate::actor::Actor;
use crate::entry::{Kind, rfc3339};
use crate::syslog::{Syslog, SyslogEntry};
use crate::trail::{Appended, Draft, Trail, TrailError};

const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What becomes of an action that cannot be recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnFull {
    /// It is done, and an alarm stands.
    #[default]
    Serve,
    /// It is refused.
    Refuse,
}

/// Where and how actions are recorded.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory of the trail.
    pub dir: PathBuf,
    /// What happens where it cannot be written.
    pub on_full: OnFull,
    /// The socket of syslog.
    pub syslog: Option<PathBuf>,
    /// Bytes after which the next file of the trail begins.
    pub file_bytes_max: u64,
}

impl Options {
    /// Options with the defaults for a trail.
    pub fn new(dir: PathBuf) -> Self {
        let syslog = Some(PathBuf::from("/dev/log"));
        Self { dir, on_full: OnFull::Serve, syslog, file_bytes_max: 16 << 20 }
    }
}

/// Records actions.
#[derive(Debug, Clone)]
pub struct ActionRecorder(Arc<Shared>);

struct Shared {
    trail: Option<Trail>,
    on_full: OnFull,
    syslog: Option<Syslog>,
    clock: Arc<dyn Clock>,
    /// Held while an entry is written.
    writing: Mutex<()>,
    /// Never held while the disk works, because pages ask for the alarm.
    trouble: Mutex<Trouble>,
}

/// What keeps entries from the trail.
#[derive(Debug, Default, Clone)]
struct Trouble {
    /// Why the last entry was not written, and since when that is so.
    reason: Option<(String, String)>,
    unwritten: u64,
    /// Why the head could not be written.
    head: Option<String>,
    has_thread: bool,
}

/// An action that has begun. Dropping it says that it was given up.
#[derive(Debug)]
#[must_use = "an action has a result"]
pub struct Begun {
    shared: Arc<Shared>,
    who: Actor,
    action: String,
    what: String,
    number: Option<u64>,
    unwritten: Option<String>,
    is_ended: bool,
}

impl ActionRecorder {
    /// Returns a recorder; nothing is written before the first action.
    pub fn new(options: Options) -> Self {
        Self::with(options, Arc::new(RealDisk), Arc::new(SystemClock))
    }

    /// Returns a recorder with a disk and a clock of its own.
    fn with(options: Options, disk: Arc<dyn Disk>, clock: Arc<dyn Clock>) -> Self {
        let Options { dir, on_full, syslog, file_bytes_max } = options;
        let trail = Trail::new(dir, file_bytes_max, disk, Arc::clone(&clock));
        Self::of(Some(trail), on_full, syslog, clock)
    }

    /// Returns a recorder that has no trail, and tells syslog alone.
    pub fn witness_only(syslog: PathBuf) -> Self {
        Self::of(None, OnFull::Serve, Some(syslog), Arc::new(SystemClock))
    }

    fn of(
        trail: Option<Trail>,
        on_full: OnFull,
        syslog: Option<PathBuf>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let syslog = syslog.map(Syslog::new);
        let (writing, trouble) = (Mutex::default(), Mutex::default());
        Self(Arc::new(Shared { trail, on_full, syslog, clock, writing, trouble }))
    }

    /// Records what is to be done, before it is.
    ///
    /// # Errors
    /// When it cannot be recorded, and is to be refused then.
    pub fn begin(&self, who: Actor, action: &str, what: &str) -> Result<Begun, TrailError> {
        let shared = &self.0;
        let (kind, of, result) = (Kind::Begun, None, None);
        let draft = Draft { kind, of, who: &who, action, what, result };
        let (number, unwritten) = match shared.write(&draft) {
            Ok(number) => (number, None),
            Err(error) if shared.on_full == OnFull::Refuse => return Err(error),
            Err(error) => (None, Some(Chain(&error).to_string())),
        };
        let (action, what) = (action.to_owned(), what.to_owned());
        let shared = Arc::clone(shared);
        Ok(Begun { shared, who, action, what, number, unwritten, is_ended: false })
    }

    /// Returns what keeps entries from the trail, for operators.
    pub fn alarm(&self) -> Option<String> {
        let Some(trail) = &self.0.trail else { return None };
        let trouble = self.0.trouble();
        let dir = trail.dir.display();
        let Some((reason, since)) = &trouble.reason else {
            let head = trouble.head.as_ref()?;
            return Some(format!("`{dir}`: a cut tail would not be noticed: {head}"));
        };
        let then = match self.0.on_full {
            OnFull::Serve => "actions are done all the same",
            OnFull::Refuse => "actions are refused",
        };
        let count = trouble.unwritten;
        Some(format!("`{dir}`: {count} entries are not written since {since}: {reason}; {then}"))
    }
}

impl Begun {
    /// Returns why the action is not in the trail.
    pub fn unwritten(&self) -> Option<&str> {
        self.unwritten.as_deref()
    }

    /// Records the result.
    pub fn end(mut self, result: &str) {
        self.write(result);
    }

    fn write(&mut self, result: &str) {
        self.is_ended = true;
        let (kind, of, result) = (Kind::Ended, self.number, Some(result));
        let Self { who, action, what, .. } = &*self;
        // What it was done to stands in the entry that began it, if there is one.
        let draft = Draft { kind, of, who, action, what, result };
        // The alarm and the log say it; the action is done.
        let _ = self.shared.write(&draft);
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        if !self.is_ended {
            let result = if std::thread::panicking() { "failed: a panic" } else { "given up" };
            self.write(result);
        }
    }
}

impl Shared {
    /// Writes an entry to the trail and to syslog. Returns its number, if there is a trail.
    fn write(self: &Arc<Self>, draft: &Draft<'_>) -> Result<Option<u64>, TrailError> {
        let written = self.trail.as_ref().map(|trail| self.write_to(trail, draft)).transpose();
        let entry = written.as_ref().ok().and_then(Option::as_ref);
        if let Some(syslog) = &self.syslog {
            let (command, who) = worded(draft);
            let result = draft.result;
            let entry = entry.map(|entry| (entry.number, entry.hash.as_str()));
            let sent = SyslogEntry { command: &command, who: &who, result, written: entry };
            syslog.send(&sent, self.clock.unix_micros());
        }
        written.map(|entry| entry.map(|entry| entry.number))
    }

    fn write_to(
        self: &Arc<Self>,
        trail: &Trail,
        draft: &Draft<'_>,
    ) -> Result<Appended, TrailError> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let appended = self.recover(trail).and_then(|()| trail.append(draft));
        match &appended {
            Ok(appended) => self.accept(trail, appended),
            Err(error) => {
                let reason = Chain(error).to_string();
                let dir = trail.dir.display();
                tracing::warn!(target: "audit", %dir, error = reason, "an entry is not written");
                let now = || rfc3339(self.clock.unix_micros());
                let mut trouble = self.trouble();
                let since = trouble.reason.take().map_or_else(now, |(_, since)| since);
                trouble.reason = Some((reason, since));
                trouble.unwritten += 1;
            }
        }
        let mut trouble = self.trouble();
        if (trouble.reason.is_some() || trouble.head.is_some()) && !trouble.has_thread {
            trouble.has_thread = try_again(Arc::downgrade(self));
        }
        appended
    }

    /// Notes in the trail what could not be written to it, once it can be written again.
    fn recover(&self, trail: &Trail) -> Result<(), TrailError> {
        let Trouble { reason, unwritten, head, .. } = self.trouble().clone();
        let Some((reason, since)) = &reason else {
            if head.is_some() && trail.renew_head().is_ok() {
                self.trouble().head = None;
            }
            return Ok(());
        };
        let what = format!("{unwritten} entries since {since}: {reason}");
        let (kind, of, result) = (Kind::Note, None, None);
        let who = &Actor::default();
        let action = "not written";
        let appended = trail.append(&Draft { kind, of, who, action, what: &what, result })?;
        self.accept(trail, &appended);
        let dir = trail.dir.display();
        tracing::info!(target: "audit", %dir, unwritten, "entries can be written again");
        let mut trouble = self.trouble();
        trouble.reason = None;
        trouble.unwritten = 0;
        Ok(())
    }

    /// Says what was found wrong with the trail when an entry was written.
    fn accept(&self, trail: &Trail, appended: &Appended) {
        let dir = trail.dir.display();
        for found in &appended.found {
            tracing::warn!(target: "audit", %dir, found, "the trail was damaged");
        }
        let head = appended.head_error.as_ref().map(|error| Chain(error).to_string());
        if let Some(error) = &head {
            tracing::warn!(target: "audit", %dir, error, "the head of the trail is not written");
        }
        self.trouble().head = head;
    }

    fn trouble(&self) -> MutexGuard<'_, Trouble> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Tries each second whether the trail can be written again. Returns whether it does.
fn try_again(shared: Weak<Shared>) -> bool {
    let thread = std::thread::Builder::new().name("audit".to_owned());
    let work = move || {
        loop {
            std::thread::sleep(RETRY_INTERVAL);
            let Some(shared) = shared.upgrade() else { return };
            let Some(trail) = &shared.trail else { return };
            let _writing = shared.writing.lock().unwrap_or_else(PoisonError::into_inner);
            // An error changes nothing: the alarm stands.
            let _ = shared.recover(trail);
            let mut trouble = shared.trouble();
            if trouble.reason.is_none() && trouble.head.is_none() {
                trouble.has_thread = false;
                return;
            }
        }
    };
    thread.spawn(work).is_ok()
}

/// Command and actor of a line of syslog. A program that a command of the laboratory runs stands
/// first, so that the line is found by the program.
fn worded(draft: &Draft<'_>) -> (String, String) {
    let (action, what, who) = (draft.action, draft.what, draft.who);
    match what {
        "" => (action.to_owned(), who.to_string()),
        _ if action.starts_with("lab ") => (what.to_owned(), format!("{who} in {action}")),
        _ => (format!("{action} {what}"), who.to_string()),
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ActionRecorder").field("trail", &self.trail).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
