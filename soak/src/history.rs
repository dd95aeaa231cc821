//! The model: which version of each URL the origin sent when, and what a cache may make of that.
//!
//! An answer is right when the origin sent it, and sent it late enough before the request:
//!
//! - an answer with a lifetime (RFC 9111 §4.2, RFC 5861): at most the lifetime and the time of a
//!   fetch before;
//! - one that may not be shared (`no-store`, `private`): after the request began, and for that
//!   request only;
//! - one to be confirmed for each use (`no-cache`): after the request began, or confirmed then;
//! - while the upstream fails, any that does not forbid it: at any time (RFC 9111 §4.2.4).

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::dice::Dice;
use crate::fact::Fact;

/// A fetch may take this long from what the origin says to what is stored: the lease, and a busy
/// machine's delay.
const FETCH_MAX: Duration = Duration::from_millis(4_500);
/// A failure is remembered by the gateway this long.
const HOLD_OFF: Duration = Duration::from_secs(1);
/// Versions of a URL that are remembered; older ones are beyond every allowance.
const VERSIONS_MAX: usize = 400;
/// Orders to forget a URL that are remembered.
const FORGOTTEN_MAX: usize = 32;

/// Who may be given an answer again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Everybody, for so many seconds, stale use included.
    Seconds(u64),
    /// Everybody, after a confirmation for each use.
    Confirmed,
    /// Nobody, but those who wait for one and the same answer on a `strict` route.
    Once,
    /// Nobody.
    Private,
}

/// What the origin says of how its answer may be used.
#[derive(Debug)]
pub(crate) struct Mode {
    /// The fields; `expires` and `last-modified` are given in seconds from the answer.
    pub fields: &'static [(&'static str, &'static str)],
    /// What follows from them.
    pub sharing: Sharing,
    /// Whether an authorised request's answer is everybody's (RFC 9111 §3.5).
    pub open: bool,
    /// Whether it may stand in, however old, while the upstream fails.
    pub stands_in: bool,
}

/// One that may neither stand in nor answer for the authorised.
const fn mode(fields: &'static [(&'static str, &'static str)], sharing: Sharing) -> Mode {
    Mode { fields, sharing, open: false, stands_in: false }
}

/// One that may stand in.
const fn lenient(fields: &'static [(&'static str, &'static str)], sharing: Sharing) -> Mode {
    Mode { stands_in: true, ..mode(fields, sharing) }
}

/// One that says of itself that it is everybody's.
const fn open(mode: Mode) -> Mode {
    Mode { open: true, ..mode }
}

/// The first is what the origin says once it is well again.
const MODES: [Mode; 17] = [
    lenient(&[("cache-control", "max-age=1")], Sharing::Seconds(1)),
    open(lenient(&[("cache-control", "public, max-age=2")], Sharing::Seconds(2))),
    lenient(&[("cache-control", "max-age=1, stale-while-revalidate=2")], Sharing::Seconds(3)),
    mode(&[("cache-control", "max-age=1, stale-if-error=4")], Sharing::Seconds(5)),
    open(mode(&[("cache-control", "s-maxage=1, max-age=90")], Sharing::Seconds(1))),
    open(mode(&[("cache-control", "max-age=1, must-revalidate")], Sharing::Seconds(1))),
    mode(&[("cache-control", "no-cache")], Sharing::Confirmed),
    mode(&[("cache-control", "max-age=90, no-cache")], Sharing::Confirmed),
    mode(&[("cache-control", "max-age=90, no-store")], Sharing::Once),
    mode(&[("cache-control", "private, max-age=90")], Sharing::Private),
    lenient(&[("expires", "1")], Sharing::Seconds(2)),
    lenient(&[("last-modified", "-20")], Sharing::Seconds(3)),
    lenient(&[("cache-control", "max-age=3, no-transform"), ("age", "2")], Sharing::Seconds(2)),
    lenient(&[("cache-control", "max-age=0")], Sharing::Confirmed),
    lenient(
        &[("cache-control", "no-store"), ("cdn-cache-control", "max-age=1")],
        Sharing::Seconds(1),
    ),
    mode(&[("cache-control", "max-age=90"), ("cdn-cache-control", "no-store")], Sharing::Once),
    mode(&[("set-cookie", "sid=1"), ("last-modified", "-900")], Sharing::Private),
];

/// How a route treats what it fetches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Caches and coalesces by the origin's word.
    On,
    /// Caches on disk too.
    Disk,
    /// Caches, but never waits on another request.
    Off,
    /// One answer for all who wait, kept for a second unless it is private.
    Strict,
    /// A lifetime of its own: `ttl = "1s"`, `stale = "2s"`.
    Ttl,
    /// Personalises by cookie; the personalised answer is not stored.
    Me,
    /// No cache.
    Pass,
}

impl Route {
    /// Every route with its path's first segment.
    pub(crate) const ALL: [(Self, &'static str); 7] = [
        (Self::On, "on"),
        (Self::Disk, "disk"),
        (Self::Off, "off"),
        (Self::Strict, "strict"),
        (Self::Ttl, "ttl"),
        (Self::Me, "me"),
        (Self::Pass, "pass"),
    ];

    /// How long before a request an answer may have been said; `None` when not at all.
    fn window(self, sharing: Sharing) -> Option<Duration> {
        let seconds = match (self, sharing) {
            // All who wait on one fetch get its answer, whatever it says.
            (Self::Strict, Sharing::Private) => 0,
            (Self::Pass, _) | (_, Sharing::Private) => return None,
            (Self::Ttl, Sharing::Seconds(_) | Sharing::Confirmed) => 3,
            (Self::Strict, Sharing::Seconds(seconds)) => seconds.max(1),
            (Self::Strict, Sharing::Confirmed | Sharing::Once) => 1,
            (_, Sharing::Seconds(seconds)) => seconds,
            (_, Sharing::Confirmed | Sharing::Once) => return None,
        };
        Some(Duration::from_secs(seconds))
    }
}

/// What the origin says this time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Representation {
    /// The version.
    pub version: u64,
    /// Its status.
    pub status: u16,
    /// How it may be used.
    pub mode: &'static Mode,
    /// Whether it differs by language.
    pub varies: bool,
}

#[derive(Debug)]
struct Version {
    representation: Representation,
    /// When it was last said, by language and user.
    sent: HashMap<(String, String), Instant>,
}

#[derive(Debug, Default)]
struct Key {
    versions: VecDeque<Version>,
    /// When it was forgotten by order: begun, done.
    forgotten: VecDeque<(Instant, Instant)>,
}

/// Everything the origin said.
#[derive(Debug, Default)]
pub(crate) struct History {
    keys: Mutex<HashMap<String, Key>>,
    given: Mutex<HashSet<u64>>,
    settled: Mutex<bool>,
    failed: Mutex<HashMap<String, Instant>>,
    /// A server takes no connections until then.
    down_until: Mutex<Option<Instant>>,
}

impl History {
    /// What the origin says of `url` from now on; now and then it changes its mind.
    pub(crate) fn current(&self, url: &str, dice: &mut Dice) -> Representation {
        let settled = *lock(&self.settled);
        let mut keys = lock(&self.keys);
        let key = keys.entry(url.to_owned()).or_default();
        if key.versions.is_empty() || (!settled && dice.chance(4)) {
            key.change(if settled { None } else { Some(dice) });
        }
        key.versions.back().expect("a version was just made").representation
    }

    /// Changes a URL, as a POST does.
    pub(crate) fn change(&self, url: &str, dice: &mut Dice) {
        lock(&self.keys).entry(url.to_owned()).or_default().change(Some(dice));
    }

    /// Notes that the origin says this now.
    pub(crate) fn says(&self, fact: &Fact) {
        let mut keys = lock(&self.keys);
        let Some(key) = keys.get_mut(&fact.url) else { return };
        if let Some(version) =
            key.versions.iter_mut().rfind(|v| v.representation.version == fact.version)
        {
            version.sent.insert((fact.variant.clone(), fact.user.clone()), Instant::now());
        }
    }

    /// Notes that what is stored of some URLs was to be forgotten: by a purge or by a POST, which
    /// began and ended then.
    pub(crate) fn forgets(&self, is_meant: impl Fn(&str) -> bool, began: Instant) {
        let order = (began, Instant::now());
        let mut keys = lock(&self.keys);
        for (_, key) in keys.iter_mut().filter(|(url, _)| is_meant(url)) {
            key.forgotten.push_back(order);
            if key.forgotten.len() > FORGOTTEN_MAX {
                key.forgotten.pop_front();
            }
        }
    }

    /// Notes that the gateway got no good answer to a request for `url` about now.
    pub(crate) fn fails(&self, url: &str) {
        lock(&self.failed).insert(url.to_owned(), Instant::now());
    }

    /// Notes that a server takes no connections until then.
    pub(crate) fn is_down(&self, end: Instant) {
        let mut down = lock(&self.down_until);
        *down = Some(down.map_or(end, |before| before.max(end)));
    }

    /// Whether the upstream failed of late, as the gateway may have seen it.
    pub(crate) fn failed_since(&self, url: &str, begun: Instant) -> bool {
        let since = begun.checked_sub(HOLD_OFF + FETCH_MAX).unwrap_or(begun);
        lock(&self.failed).get(url).is_some_and(|at| *at > since)
            || lock(&self.down_until).is_some_and(|end| end > since)
    }

    /// From now on every URL has one last version, cacheable and everybody's.
    pub(crate) fn settle(&self) -> Vec<String> {
        *lock(&self.settled) = true;
        let mut keys = lock(&self.keys);
        keys.values_mut().for_each(|key| key.change(None));
        keys.keys().cloned().collect()
    }

    /// The newest version of a URL.
    pub(crate) fn newest(&self, url: &str) -> Option<u64> {
        Some(lock(&self.keys).get(url)?.versions.back()?.representation.version)
    }

    /// Whether an answer with this status and fact is right for a request that began at `begun`
    /// and asked for `variant`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn judge(
        &self,
        route: Route,
        fact: &Fact,
        (status, variant): (Option<u16>, &str),
        begun: Instant,
    ) -> Result<(), String> {
        let keys = lock(&self.keys);
        let key = keys.get(&fact.url).ok_or("a URL that the origin was never asked for")?;
        let version = key.versions.iter().rfind(|v| v.representation.version == fact.version);
        let Version { representation, sent } =
            version.ok_or("a version long gone, or never told")?;
        if status.is_some_and(|status| status != representation.status) {
            return Err(format!("the origin said it with status {}", representation.status));
        }
        let right = if representation.varies { variant } else { "-" };
        if fact.variant != right {
            return Err(format!("the variant `{}` was asked for", right));
        }
        let sent = sent.get(&(fact.variant.clone(), fact.user.clone()));
        let sent = *sent.ok_or("the origin never said this")?;
        if key.forgotten.iter().any(|(began, done)| begun > *done && sent < *began) {
            return Err("said before an order to forget it, which was carried out".to_owned());
        }
        let before = begun.saturating_duration_since(sent);
        let personal = fact.user != "-";
        let window = route.window(representation.mode.sharing).filter(|_| !personal);
        let stands_in = representation.mode.stands_in && !matches!(route, Route::Ttl | Route::Pass);
        match window {
            _ if stands_in && !personal && self.failed_since(&fact.url, begun) => {}
            None if !before.is_zero() => {
                return Err(format!("said {before:?} before the request, to another one"));
            }
            Some(window) if before > window + FETCH_MAX => {
                return Err(format!("said {before:?} before the request, allowed are {window:?}"));
            }
            _ => {}
        }
        drop(keys);
        if fact.once > 0 && window.is_none() && !lock(&self.given).insert(fact.once) {
            return Err("an answer for one request was given to two".to_owned());
        }
        Ok(())
    }
}

impl Key {
    fn change(&mut self, dice: Option<&mut Dice>) {
        let version = self.versions.back().map_or(1, |last| last.representation.version + 1);
        let representation = match dice {
            None => Representation { version, status: 200, mode: &MODES[0], varies: false },
            Some(dice) => Representation {
                version,
                status: dice.pick(&[200, 200, 200, 200, 200, 200, 200, 200, 404, 410]),
                mode: &MODES[dice.below(MODES.len() as u64) as usize],
                varies: dice.chance(30),
            },
        };
        self.versions.push_back(Version { representation, sent: HashMap::new() });
        if self.versions.len() > VERSIONS_MAX {
            self.versions.pop_front();
        }
    }
}

/// The value; a thread that panicked while it held the lock has failed the run already.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
