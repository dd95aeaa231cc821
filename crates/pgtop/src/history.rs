//! Keeps what active sessions waited for, second by second, and counts it by class, event, query
//! and user.
//!
//! Each frame is a sample: a session that is active adds one to what it waits for, or to `CPU`. The
//! mean over samples is the number of sessions that were busy so, as in Oracle's active session
//! history. Queries that differ in numbers and quoted texts only are one.
//! Bounds: `samples_max` samples are kept, the oldest go. `KEYS_MAX` ways to wait are told apart;
//! what comes beyond is counted as `(other)` within its class. They are known until the end, also
//! after their samples have gone.
//! Invariant: the sums of a bar by class, by event, by query and by user are equal.

use std::collections::{HashMap, VecDeque};

use crate::frame::{PgFrame, PgSession};

const KEYS_MAX: usize = 20_000;
/// Characters of a query that tell it from others.
const QUERY_CHARACTERS: usize = 200;
const OTHER: &str = "(other)";
/// Labels of a chart; what is left is one more.
const LABELS_MAX: usize = 6;
/// The classes that PostgreSQL has, in the order in which a chart stacks them; `CPU` is ours.
pub(crate) const CLASSES: [&str; 11] = [
    "CPU",
    "IO",
    "Lock",
    "LWLock",
    "IPC",
    "Client",
    "Timeout",
    "BufferPin",
    "Extension",
    "Activity",
    "InjectionPoint",
];

/// How waits are told apart at a depth of drilling down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitLevel {
    /// By the class of what is waited for.
    Class,
    /// By the event.
    Event,
    /// By the query.
    Query,
    /// By the role.
    User,
}

/// How a session waits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WaitKey {
    class: String,
    event: String,
    query: String,
    user: String,
}

struct WaitSample {
    time_us: i64,
    /// Keys by their numbers, and how many sessions.
    counts: Vec<(u32, u32)>,
}

/// What active sessions waited for.
pub struct WaitHistory {
    samples: VecDeque<WaitSample>,
    samples_max: usize,
    keys: Vec<WaitKey>,
    numbers: HashMap<WaitKey, u32>,
}

/// Which part of the history is drawn: so many bars up to a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitWindow {
    /// The end, exclusive.
    pub end_us: i64,
    /// How long a bar is.
    pub bar_us: i64,
    /// How many there are.
    pub bars: usize,
}

/// A chart: mean busy sessions in each bar, by label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WaitChart {
    /// What is told apart, the most frequent first; classes in the order of `CLASSES`.
    pub labels: Vec<String>,
    /// The bars, the oldest first; each has a number for each label, or none without samples.
    pub bars: Vec<Option<Vec<f64>>>,
}

/// A label with the mean of busy sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitShare {
    /// What is told apart.
    pub label: String,
    /// Busy sessions, on average.
    pub sessions: f64,
}

impl WaitLevel {
    /// From the outermost one on.
    pub const ALL: [Self; 4] = [Self::Class, Self::Event, Self::Query, Self::User];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Class => "class",
            Self::Event => "event",
            Self::Query => "query",
            Self::User => "user",
        }
    }
}

impl WaitKey {
    fn label(&self, level: WaitLevel) -> &str {
        match level {
            WaitLevel::Class => &self.class,
            WaitLevel::Event => &self.event,
            WaitLevel::Query => &self.query,
            WaitLevel::User => &self.user,
        }
    }

    /// Whether it is below what was chosen, level by level.
    fn is_below(&self, path: &[String]) -> bool {
        WaitLevel::ALL.iter().zip(path).all(|(level, chosen)| self.label(*level) == chosen)
    }
}

impl WaitHistory {
    /// Keeps at most so many samples.
    pub fn new(samples_max: usize) -> Self {
        let (keys, numbers) = (Vec::new(), HashMap::new());
        Self { samples: VecDeque::new(), samples_max, keys, numbers }
    }

    /// Takes a frame as a sample; one that is not later than the last one is passed over.
    pub fn push(&mut self, frame: &PgFrame) {
        if self.samples.back().is_some_and(|last| last.time_us >= frame.time_us) {
            return;
        }
        let mut counts: HashMap<u32, u32> = HashMap::new();
        // A walsender is active for as long as it lives.
        let is_busy = |it: &&PgSession| it.state == "active" && it.kind != "walsender";
        for session in frame.sessions.iter().filter(is_busy) {
            *counts.entry(self.number(session)).or_default() += 1;
        }
        if self.samples.len() == self.samples_max {
            self.samples.pop_front();
        }
        let counts = counts.into_iter().collect();
        self.samples.push_back(WaitSample { time_us: frame.time_us, counts });
    }

    /// Returns the time of the oldest sample and of the newest.
    pub fn span_us(&self) -> Option<(i64, i64)> {
        Some((self.samples.front()?.time_us, self.samples.back()?.time_us))
    }

    /// Returns mean busy sessions by the level below `path`, from one moment to before another.
    pub fn shares(&self, (from_us, end_us): (i64, i64), path: &[String]) -> Vec<WaitShare> {
        let samples = self.within(from_us, end_us);
        let mut counted = 0_u32;
        let mut sums: HashMap<&str, u32> = HashMap::new();
        for sample in samples {
            counted += 1;
            for (label, count) in self.labelled(sample, path) {
                *sums.entry(label).or_default() += count;
            }
        }
        let mut shares: Vec<WaitShare> = sums
            .into_iter()
            .map(|(label, sum)| WaitShare {
                label: label.to_owned(),
                sessions: f64::from(sum) / f64::from(counted),
            })
            .collect();
        shares.sort_by(|one, other| {
            other.sessions.total_cmp(&one.sessions).then_with(|| one.label.cmp(&other.label))
        });
        shares
    }

    /// Returns the chart of a window by the level below `path`.
    pub fn chart(&self, window: WaitWindow, path: &[String]) -> WaitChart {
        let start_us = window.start_us();
        let mut shares = self.shares((start_us, window.end_us), path);
        // There are so few classes that each is told apart, at a place of its own.
        let labels_max = if path.is_empty() { CLASSES.len() } else { LABELS_MAX };
        let count = shares.len();
        // What is beyond `KEYS_MAX` is told apart no better than what is beyond `labels_max`.
        shares.retain(|share| share.label != OTHER);
        shares.truncate(labels_max);
        let has_others = shares.len() < count;
        let mut labels: Vec<String> = shares.into_iter().map(|share| share.label).collect();
        if path.is_empty() {
            labels.sort_by_key(|label| class_place(label).unwrap_or(CLASSES.len()));
        }
        let places: HashMap<String, usize> =
            labels.iter().enumerate().map(|(at, label)| (label.clone(), at)).collect();
        if has_others {
            labels.push(OTHER.to_owned());
        }
        let bars = (0..window.bars).map(|at| {
            let from = start_us + at as i64 * window.bar_us;
            let mut counted = 0_u32;
            let mut bar = vec![0.0; labels.len()];
            for sample in self.within(from, from + window.bar_us) {
                counted += 1;
                for (label, count) in self.labelled(sample, path) {
                    let place = places.get(label).copied().unwrap_or(labels.len() - 1);
                    bar[place] += f64::from(count);
                }
            }
            bar.iter_mut().for_each(|sum| *sum /= f64::from(counted));
            (counted > 0).then_some(bar)
        });
        let bars = bars.collect();
        WaitChart { labels, bars }
    }

    fn labelled<'h>(
        &'h self,
        sample: &'h WaitSample,
        path: &'h [String],
    ) -> impl Iterator<Item = (&'h str, u32)> {
        let level = WaitLevel::ALL[path.len().min(WaitLevel::ALL.len() - 1)];
        let counts = sample.counts.iter().map(|(number, count)| {
            // Numbers are places in `keys`, which only grows.
            (&self.keys[*number as usize], *count)
        });
        counts.filter(|(key, _)| key.is_below(path)).map(move |(key, n)| (key.label(level), n))
    }

    fn within(&self, from_us: i64, end_us: i64) -> impl Iterator<Item = &WaitSample> {
        let first = self.samples.partition_point(|sample| sample.time_us < from_us);
        self.samples.range(first..).take_while(move |sample| sample.time_us < end_us)
    }

    fn number(&mut self, session: &PgSession) -> u32 {
        let mut key = WaitKey {
            class: session.wait_class().to_owned(),
            event: session.wait_event().to_owned(),
            query: without_values(&session.query),
            user: session.client.user.clone(),
        };
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        if self.keys.len() >= KEYS_MAX {
            let other = || OTHER.to_owned();
            key = WaitKey { event: other(), query: other(), user: other(), ..key };
        }
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let number = u32::try_from(self.keys.len()).expect("classes of waits are few");
        self.keys.push(key.clone());
        self.numbers.insert(key, number);
        number
    }
}

impl WaitWindow {
    /// Returns where the first bar begins.
    pub fn start_us(&self) -> i64 {
        self.end_us - self.bar_us * self.bars as i64
    }

    /// Returns from when to before when a bar is.
    pub fn bar(&self, at: usize) -> (i64, i64) {
        let start = self.start_us() + self.bar_us * at as i64;
        (start, start + self.bar_us)
    }
}

/// Where a class stands among `CLASSES`.
pub(crate) fn class_place(class: &str) -> Option<usize> {
    CLASSES.iter().position(|known| *known == class)
}

/// A query with `?` for its numbers and quoted texts, in one line.
fn without_values(query: &str) -> String {
    let mut out = String::new();
    let mut count = 0;
    let mut characters = query.chars().peekable();
    while let Some(character) = characters.next() {
        if count >= QUERY_CHARACTERS {
            break;
        }
        let before = out.chars().next_back();
        let is_word = before.is_some_and(|it| it.is_alphanumeric() || it == '_' || it == '$');
        let shown = match character {
            '\'' => {
                // A quote within a text is doubled, so a text in two pieces is two texts.
                while characters.next().is_some_and(|next| next != '\'') {}
                if before == Some('?') { continue } else { '?' }
            }
            digit if digit.is_ascii_digit() && !is_word => {
                while characters.next_if(|it| it.is_ascii_digit() || *it == '.').is_some() {}
                '?'
            }
            space if space.is_whitespace() => match before {
                None | Some(' ') => continue,
                _ => ' ',
            },
            other => other,
        };
        out.push(shown);
        count += 1;
    }
    out.truncate(out.trim_end().len());
    if out.is_empty() { "(no query)".to_owned() } else { out }
}

#[cfg(test)]
mod tests;
