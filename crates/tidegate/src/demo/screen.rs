//! Draws the demo's screen: requests, decisions, latencies, and what is learned.
//!
//! Counts come from the rollups (`demo/counts.rs`) and latencies from the metrics and statsd's last
//! flush. Figures of lists read come from `demo/readers.rs`. On a terminal the screen is redrawn at
//! each call, elsewhere one line comes with every fifth.
//! The route, the paths of the commands to try, and the percentile 99 must be those of
//! `examples/news/tidegate.toml`. The timer's name is the one that the process's metrics have in
//! statsd. Otherwise figures stay 0 or away. README.md shows the rows.
//! Invariant: what is not known yet is 0 or left out, and a reader of stdout that leaves ends
//! nothing once the screen is open. Refuses: to count anything itself.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use exchange::{CacheResult, Decision};
use gateway::SECONDS;
use metrics::TimerSnapshot;

use super::counts::Counts;
use super::readers::Readers;
use crate::commands;
use crate::parts::Parts;

const LISTS: &str = "/1/recommendations.{format:json}";
/// Columns of the narrowest usual terminal.
const WIDTH: usize = 80;
/// What the rest of a row stands under.
const GOES_ON: &str = "             ";
/// Seconds between two lines when the output is no terminal.
const LINE_INTERVAL: u32 = 5;

/// The screen.
pub(super) struct Screen {
    is_terminal: bool,
    public: SocketAddr,
    admin: SocketAddr,
    management: SocketAddr,
    dir: PathBuf,
    last: Instant,
    last_requests: u64,
    last_timer: TimerSnapshot,
    shown: u32,
}

impl Screen {
    /// Prints what is worth trying.
    pub(super) fn open(
        management: SocketAddr,
        (public, admin): (SocketAddr, SocketAddr),
        dir: &Path,
    ) -> Self {
        let screen = Self {
            is_terminal: std::io::stdout().is_terminal(),
            public,
            admin,
            management,
            dir: dir.to_owned(),
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
    pub(super) fn show(&mut self, parts: &Parts, readers: Option<&Readers>) {
        self.shown += 1;
        if !self.is_terminal && self.shown % LINE_INTERVAL != 1 {
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
        let Self { public, admin, management, dir, .. } = self;
        let lists = format!("'http://{public}/1/recommendations.json");
        let (cookie, file) = ("-H 'Cookie: userId=", format!("-c {}/tidegate.toml", dir.display()));
        let commands = [
            vec!["curl -i".to_owned(), format!("{lists}'")],
            vec![format!("curl -i {cookie}r0001'"), format!("{lists}?explain=1'")],
            vec![
                format!("curl -i -X POST {cookie}me'"),
                format!("'http://{public}/1/feedback/read?item=1'"),
            ],
            vec![format!("curl 'http://{admin}/status'")],
            vec![format!("echo 'last phase' | nc -N {} {}", management.ip(), management.port())],
            vec!["tidegate events query requests".to_owned(), file.clone()],
            vec!["tidegate events verify".to_owned(), file],
        ];
        let commands: String = commands.iter().map(|parts| command(parts)).collect();
        format!(
            "Tidegate demo: news, ranked by a model, personalised at the edge.\n\
             Configuration, journal, profiles and counts of this run:\n\
             \x20 {}\n\nWorth trying:\n{commands}",
            dir.display()
        )
    }

    fn summary(&mut self, parts: &Parts, readers: Option<&Readers>) -> String {
        let registry = &parts.registry;
        let counts = Counts::read(&self.dir);
        let requests = counts.all();
        let now = Instant::now();
        let seconds = now.duration_since(self.last).as_secs_f64().max(0.001);
        let rate = requests.saturating_sub(self.last_requests) as f64 / seconds;
        let timer = registry.merged(SECONDS);
        let recent = timer.since(&self.last_timer);
        (self.last, self.last_requests, self.last_timer) = (now, requests, timer);

        let lists = counts.of_route(LISTS);
        let hits: u64 = [CacheResult::Hit, CacheResult::Stale, CacheResult::Collapsed]
            .map(|cache| counts.cached(LISTS, cache.name()))
            .iter()
            .sum();
        let personalised = counts.decided(LISTS, Decision::Personalised.name());
        let decisions: Vec<String> = Decision::ALL
            .iter()
            .map(|decision| (decision.name(), counts.decided(LISTS, decision.name())))
            .filter(|(_, count)| *count > 0)
            .map(|(name, count)| format!("{name} {count}"))
            .collect();
        let (p50, p99) = (recent.quantile(0.5), recent.quantile(0.99));
        let profiles = parts.profile_build.rows().unwrap_or(0);
        let generation = parts.profiles.as_ref().and_then(|p| p.generation()).unwrap_or(0);
        let latency = match recent.count() {
            0 => "no request yet".to_owned(),
            _ => format!("p50 {p50:.0?}, p99 {p99:.0?}"),
        };
        let of_lists = parts.statsd.as_ref().map(|statsd| by_decision(statsd)).unwrap_or_default();
        let mut rows = vec![
            (
                "requests",
                vec![
                    format!("{requests} ({rate:.0}/s)"),
                    format!("reads recorded {}", counts.reads),
                ],
            ),
            (
                "hit ratio",
                vec![
                    format!("{:.1} % of {lists} lists", percent(hits, lists)),
                    format!("{:.1} % personalised", percent(personalised, lists)),
                ],
            ),
            ("decisions", decisions),
            ("latency", vec![latency]),
        ];
        if !of_lists.is_empty() {
            rows.push(("lists p99", of_lists));
        }
        let generation = format!("generation {generation}");
        rows.push(("learned", vec![commands::counted(profiles, "profile"), generation]));
        rows.extend(readers.map(|readers| ("lists read", uplift(readers))));
        let rows: Vec<String> = rows.iter().map(|(name, parts)| row(name, parts)).collect();
        rows.join("\n")
    }
}

/// A line of the screen; parts that do not fit into it go on in the next one.
fn row(name: &str, parts: &[String]) -> String {
    let mut text = format!("  {name:<10} ");
    let mut width = text.len();
    for (at, part) in parts.iter().enumerate() {
        let comma = if at + 1 < parts.len() { "," } else { "" };
        let length = 1 + part.chars().count() + comma.len();
        if at > 0 && width + length > WIDTH {
            text += &format!("\n{GOES_ON}");
            width = GOES_ON.len();
        } else if at > 0 {
            text.push(' ');
        }
        text += &format!("{part}{comma}");
        width += length;
    }
    text
}

/// A command to copy; one too long for a line goes on in the next, as a shell reads it.
fn command(parts: &[String]) -> String {
    let whole = parts.join(" ");
    match whole.chars().count() + 2 <= WIDTH {
        true => format!("  {whole}\n"),
        false => format!("  {}\n", parts.join(" \\\n    ")),
    }
}

/// How long lists took by decision, as statsd flushed it last.
fn by_decision(statsd: &statsd::ServerState) -> Vec<String> {
    let Some(flush) = statsd.last_flush() else { return Vec::new() };
    let p99 = |decision: &str| {
        let of_lists = format!("tidegate.exchange;decision={decision};route={LISTS};status=2xx");
        let timer = flush.timers.iter().find(|timer| *timer.name == *of_lists)?;
        let (_, p99_ms) = timer.statistics.iter().find(|(name, _)| name == "upper_99")?;
        Some(format!("{decision} {:.0?}", Duration::from_secs_f64(p99_ms / 1e3)))
    };
    Decision::ALL.iter().filter_map(|decision| p99(decision.name())).collect()
}

/// How often a list was read from, personalised against not: a planted effect.
fn uplift(readers: &Readers) -> Vec<String> {
    let share = |index: usize, kind: &str| {
        let seen = &readers.seen[index];
        let shown = seen.shown.load(Ordering::Relaxed);
        format!("{:.1} % of {shown} {kind}", percent(seen.read.load(Ordering::Relaxed), shown))
    };
    vec![share(1, "personalised"), share(0, "generic (readers with a profile)")]
}

fn on_one_line(summary: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let whole = summary.replace(&format!("\n{GOES_ON}"), " ");
    whole.lines().map(words).collect::<Vec<_>>().join(" · ")
}

fn percent(part: u64, whole: u64) -> f64 {
    part as f64 * 100.0 / (whole.max(1)) as f64
}

#[cfg(test)]
mod tests;
