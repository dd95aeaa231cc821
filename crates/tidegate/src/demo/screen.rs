//! One screen that shows the loop: what is asked, who gets what, how fast, and what is learned.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use exchange::{CacheResult, Decision};
use gateway::{EXCHANGES, SECONDS};
use metrics::TimerSnapshot;

use super::readers::Readers;
use crate::serve::Parts;

const ROUTE: (&str, &str) = ("route", "/1/recommendations.{format:json}");
const FEEDBACK: (&str, &str) = ("route", "/1/feedback/read");
/// Seconds between two lines when the output is no terminal.
const LINE_EVERY: u32 = 5;

/// The screen.
pub struct Screen {
    is_terminal: bool,
    public: SocketAddr,
    admin: SocketAddr,
    folder: PathBuf,
    last: Instant,
    last_requests: u64,
    last_timer: TimerSnapshot,
    shown: u32,
}

impl Screen {
    /// Prints what is worth trying.
    pub fn open(public: SocketAddr, admin: SocketAddr, folder: &Path) -> Self {
        let screen = Self {
            is_terminal: std::io::stdout().is_terminal(),
            public,
            admin,
            folder: folder.to_owned(),
            last: Instant::now(),
            last_requests: 0,
            last_timer: TimerSnapshot::default(),
            shown: 0,
        };
        if !screen.is_terminal {
            print!("{}", screen.invitation());
            // Nobody may be reading; the demo goes on.
            let _ = std::io::stdout().flush();
        }
        screen
    }

    /// Shows how things stand.
    pub fn show(&mut self, parts: &Parts, readers: Option<&Readers>) {
        self.shown += 1;
        if !self.is_terminal && self.shown % LINE_EVERY != 1 {
            return;
        }
        let summary = self.summary(parts, readers);
        let text = match self.is_terminal {
            true => format!("\x1b[2J\x1b[H{}\n{summary}\n  Ctrl-C ends.\n", self.invitation()),
            false => format!("{}\n", on_one_line(&summary)),
        };
        let mut out = std::io::stdout();
        // Nobody may be reading; the demo goes on.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn invitation(&self) -> String {
        let (public, admin) = (self.public, self.admin);
        format!(
            "Tidegate demo: news, ranked by a model, personalised at the edge.\n\
             Configuration, journal and profiles of this run: {}\n\n\
             Worth trying:\n\
             \x20 curl -i 'http://{public}/1/recommendations.json'\n\
             \x20 curl -i -H 'Cookie: userId=r0001' 'http://{public}/1/recommendations.json?explain=1'\n\
             \x20 curl -i -X POST -H 'Cookie: userId=me' 'http://{public}/1/feedback/read?item=1'\n\
             \x20 curl 'http://{admin}/status'\n",
            self.folder.display()
        )
    }

    fn summary(&mut self, parts: &Parts, readers: Option<&Readers>) -> String {
        let registry = &parts.registry;
        let count = |filter: &[(&str, &str)]| registry.sum(EXCHANGES, filter);
        let requests = count(&[]);
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64().max(0.001);
        let rate = (requests - self.last_requests) as f64 / seconds;
        let timer = registry.merged(SECONDS);
        let recent = timer.since(&self.last_timer);
        (self.last, self.last_requests, self.last_timer) = (now, requests, timer);

        let lists = count(&[ROUTE]);
        let hits: u64 = [CacheResult::Hit, CacheResult::Stale, CacheResult::Collapsed]
            .map(|cache| count(&[ROUTE, ("cache", cache.name())]))
            .iter()
            .sum();
        let decisions: Vec<String> = Decision::ALL
            .iter()
            .map(|decision| (decision.name(), count(&[ROUTE, ("decision", decision.name())])))
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let (p50, p99) = (recent.quantile(0.5), recent.quantile(0.99));
        let profiles = parts.learned.rows().unwrap_or(0);
        let generation = parts.profiles.as_ref().and_then(|p| p.generation()).unwrap_or(0);
        let mut text = format!(
            "  requests   {requests} ({rate:.0}/s), reads recorded {}\n\
             \x20 hit ratio  {:.1} % of {lists} lists\n\
             \x20 decisions  {}\n\
             \x20 latency    p50 {p50:.0?}, p99 {p99:.0?}\n\
             \x20 learned    {profiles} profiles, generation {generation}",
            count(&[FEEDBACK]),
            percent(hits, lists),
            decisions.join(", "),
        );
        if let Some(readers) = readers {
            text.push_str(&format!("\n  lists read {}", uplift(readers)));
        }
        text
    }
}

/// How often a list was read from, personalised against not: a planted effect.
fn uplift(readers: &Readers) -> String {
    let share = |index: usize, kind: &str| {
        let seen = &readers.seen[index];
        let shown = seen.shown.load(Ordering::Relaxed);
        format!("{:.1} % of {shown} {kind}", percent(seen.read.load(Ordering::Relaxed), shown))
    };
    let (own, generic) = (share(1, "personalised"), share(0, "generic"));
    format!("{own}, {generic} (readers with a profile)")
}

fn on_one_line(summary: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    summary.lines().map(words).collect::<Vec<_>>().join(" · ")
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / (whole.max(1)) as f64
}
