//! Finds queries that have become slow, each once, and says so as pgtop does.
//!
//! A query is known by its process, the start of its session and its own start. It is told when
//! first seen above the threshold, whether or not it was seen below. Only clients' queries that run
//! are slow; sessions that are idle in a transaction are not.
//! Several tabs may watch one server, which is known by the microsecond of its start: it is told
//! once for all of them.
//! Bound: what was told is remembered while the query is there, and `KEPT_US` longer. That of a
//! server that comes no more is kept: as many as there were sessions.

use std::collections::HashMap;

use serde_json::json;
use stdx::calendar::{CivilDate, TimeOfDay};

use crate::frame::{PgFrame, QueryIdentity};

/// How long a query that is seen no more is remembered.
const KEPT_US: i64 = 60_000_000;

/// A query that has become slow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowQuery {
    /// The server, such as `db1` or `db1:5433`.
    pub host: String,
    /// The database.
    pub database: String,
    /// The role.
    pub user: String,
    /// The process.
    pub pid: i32,
    /// Whole seconds for which it has been running.
    pub seconds: i64,
    /// The beginning of its text.
    pub query: String,
}

/// Watches for slow queries of all servers.
#[derive(Debug)]
pub struct SlowWatch {
    threshold_s: f64,
    /// What was told, by when its server was started, and when it was seen last by that server's
    /// clock.
    reported: HashMap<(i64, QueryIdentity), i64>,
}

impl SlowWatch {
    /// Watches for queries that take longer than so many seconds.
    pub fn new(threshold_s: f64) -> Self {
        Self { threshold_s, reported: HashMap::new() }
    }

    /// Returns the queries of a frame that have become slow, each once. `host` is what the
    /// server is called.
    pub fn crossings(&mut self, host: &str, frame: &PgFrame) -> Vec<SlowQuery> {
        let (server, now_us) = (frame.server.started_us, frame.time_us);
        let mut found = Vec::new();
        for session in frame.sessions.iter().filter(|session| session.is_running()) {
            let age_us = session.age_us(now_us).unwrap_or(0);
            if age_us as f64 / 1e6 <= self.threshold_s {
                continue;
            }
            if self.reported.insert((server, session.identity), now_us).is_some() {
                continue;
            }
            found.push(SlowQuery {
                host: host.to_owned(),
                database: session.client.database.clone(),
                user: session.client.user.clone(),
                pid: session.identity.pid,
                seconds: age_us / 1_000_000,
                query: session.query.clone(),
            });
        }
        // Another tab of the server may have a frame that is older than this one.
        self.reported.retain(|(other, _), seen| *other != server || *seen > now_us - KEPT_US);
        found
    }
}

impl SlowQuery {
    /// Returns the line of pgtop's log: date, host, database, user, process, seconds and query,
    /// with a tab between.
    pub fn log_line(&self, (date, time): (CivilDate, TimeOfDay)) -> String {
        let query = self.query.split_whitespace().collect::<Vec<_>>().join(" ");
        let [host, database, user, query] =
            [&self.host, &self.database, &self.user, &query].map(|text| screen::clean(text));
        format!(
            "{}\t{host}\t{database}\t{user}\t{}\t{}\t{query}\n",
            perl_time(date, time),
            self.pid,
            self.seconds
        )
    }

    /// Returns pgtop's message for Slack.
    pub fn payload(&self) -> String {
        let [host, database, user] =
            [&self.host, &self.database, &self.user].map(|text| for_slack(text).replace('`', "'"));
        let query = for_slack(&self.query).replace("```", "'''");
        let text = format!(
            "Slow postgres query on `{host}` database `{database}` for user `{user}`\n\
             Query ID {} (has been running for {} s):\n\n```\n{query}\n```\n",
            self.pid, self.seconds
        );
        json!({ "text": text }).to_string()
    }
}

/// A text that Slack shows as it is: no links, no mentions, no turned direction.
fn for_slack(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| line.split('\t').map(screen::clean).collect::<Vec<_>>().join("\t"))
        .collect();
    lines.join("\n").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// A date as Perl's `localtime` prints it, such as `Fri Nov 27 18:40:11 2026`.
fn perl_time(date: CivilDate, time: TimeOfDay) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let midnight = TimeOfDay { hour: 0, minute: 0, second: 0 };
    let days = stdx::calendar::unix_seconds(date, midnight).unwrap_or(0).div_euclid(86_400);
    // 1970 began on a Thursday; both places are within their tables.
    let day = DAYS[days.rem_euclid(7) as usize];
    let month = MONTHS[(date.month as usize).clamp(1, 12) - 1];
    format!(
        "{day} {month} {:2} {:02}:{:02}:{:02} {}",
        date.day, time.hour, time.minute, time.second, date.year
    )
}

#[cfg(test)]
mod tests;
