//! Counts what the header shows: the server, its sessions, and rates since the frame before.
//!
//! Invariant: each figure is what it is called. Rates are differences of counters over the
//! server's own time between two frames. There are none without a frame before, or after a reset
//! of statistics. The frames' own transactions are not counted.

use serde::Serialize;

use crate::frame::{PgFrame, PgSession};
use crate::units::{bytes, count, seconds, uptime};

/// What the header shows.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct HeaderFigures {
    /// Seconds since the server was started.
    pub uptime_s: f64,
    /// The sessions of clients.
    pub sessions: SessionCounts,
    /// Seconds of the oldest transaction, prepared ones included.
    pub oldest_transaction_s: Option<f64>,
    /// Transactions since the oldest one that vacuum must respect.
    pub xmin_age: Option<i64>,
    /// Rates since the frame before.
    pub rates: Option<HeaderRates>,
    /// Seconds by which a standby is behind.
    pub lag_s: Option<f64>,
}

/// How many sessions are in which state; nothing where the role may not see what some do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct SessionCounts {
    /// All of clients.
    pub total: usize,
    /// That run a query.
    pub active: Option<usize>,
    /// That hold a transaction open and run nothing.
    pub idle_in_transaction: Option<usize>,
    /// That wait for a lock.
    pub waiting: Option<usize>,
    /// That do nothing.
    pub idle: Option<usize>,
    /// Whose query takes longer than the threshold.
    pub slow: Option<usize>,
    /// That are let in at most.
    pub max: i64,
}

/// What happened in a second, on average since the frame before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct HeaderRates {
    /// Seconds between the frames.
    pub interval_s: f64,
    /// Transactions.
    pub transactions: f64,
    /// Of which were rolled back.
    pub rollbacks: f64,
    /// The share of blocks that were in the buffers; nothing where none was wanted.
    pub hit_share: Option<f64>,
    /// Rows that scans read, and rows that were inserted, updated and deleted.
    pub rows: [f64; 4],
    /// Bytes of temporary files.
    pub temp_bytes: f64,
    /// Deadlocks since the frame before, as a number.
    pub deadlocks: i64,
}

impl HeaderFigures {
    /// Counts a frame; `before` is the one before.
    pub fn of(frame: &PgFrame, before: Option<&PgFrame>, slow_threshold_s: f64) -> Self {
        let now = frame.time_us;
        let mut sessions =
            SessionCounts { max: frame.server.connections_max, ..SessionCounts::default() };
        sessions.total = frame.sessions.iter().filter(|session| session.is_client()).count();
        let is_seen = frame.hidden().is_none();
        let count = |is_it: &dyn Fn(&PgSession) -> bool| {
            let clients = frame.sessions.iter().filter(|session| session.is_client());
            is_seen.then(|| clients.filter(|session| is_it(session)).count())
        };
        sessions.active = count(&PgSession::is_running);
        sessions.idle_in_transaction = count(&PgSession::is_idle_in_transaction);
        sessions.idle = count(&|session| session.state == "idle");
        sessions.waiting = count(&PgSession::waits_for_lock);
        sessions.slow = count(&|session| {
            let age = session.age_us(now).unwrap_or(0) as f64 / 1e6;
            session.is_running() && age > slow_threshold_s
        });
        let starts = frame.sessions.iter().filter_map(|session| session.transaction_start_us);
        let starts = starts.chain(frame.server.prepared_us).filter(|_| is_seen);
        let ages = frame.sessions.iter().filter_map(|session| session.xmin_age);
        let ages = ages.chain(frame.server.reserved_xmin_age).filter(|_| is_seen);
        Self {
            uptime_s: (now - frame.server.started_us) as f64 / 1e6,
            sessions,
            oldest_transaction_s: starts.min().map(|start| (now - start).max(0) as f64 / 1e6),
            xmin_age: ages.max(),
            rates: before.and_then(|before| HeaderRates::between(before, frame)),
            lag_s: frame.server.lag_s,
        }
    }

    /// Returns the header, line by line.
    pub fn lines(&self, frame: &PgFrame, host: &str, time_of_day: &str) -> [String; 4] {
        let server = &frame.server;
        let standby = if server.is_standby { " standby" } else { "" };
        let lag = self.lag_s.map_or(String::new(), |lag| format!(" lag {} s", seconds(lag)));
        let uptime = uptime(self.uptime_s as i64);
        let it = &self.sessions;
        let shown = |count: Option<usize>| count.map_or("-".to_owned(), |it| it.to_string());
        let mut lines = [
            format!(
                "PgSQL on {host} ({}){standby}{lag}  up {uptime} [{time_of_day}]",
                server.version
            ),
            format!(
                " Sessions: {}/{}  active: {}  idle in xact: {}  waiting: {}  idle: {}  Slow: {}",
                it.total,
                it.max,
                shown(it.active),
                shown(it.idle_in_transaction),
                shown(it.waiting),
                shown(it.idle),
                shown(it.slow)
            ),
            " tps: -".to_owned(),
            format!(
                " oldest xact: {}  xmin age: {}",
                self.oldest_transaction_s.map_or("-".to_owned(), |it| format!("{} s", seconds(it))),
                self.xmin_age.map_or("-".to_owned(), |age| count(age as f64))
            ),
        ];
        if let Some(rates) = &self.rates {
            lines[2] = rates.line();
            lines[3] += &format!(
                "  temp: {}/s  deadlocks: {}  interval: {} s",
                bytes(rates.temp_bytes),
                rates.deadlocks,
                seconds(rates.interval_s)
            );
        }
        lines
    }
}

impl HeaderRates {
    fn between(before: &PgFrame, frame: &PgFrame) -> Option<Self> {
        let interval_s = (frame.time_us - before.time_us) as f64 / 1e6;
        let (old, new) = (&before.server.totals, &frame.server.totals);
        let watching = frame.server.watching_transactions - before.server.watching_transactions;
        let is_reset =
            new.commits < old.commits || frame.server.started_us != before.server.started_us;
        if interval_s <= 0.0 || is_reset {
            return None;
        }
        let each = |old: i64, new: i64| (new - old) as f64 / interval_s;
        let commits = (new.commits - old.commits - watching.max(0)).max(0) as f64 / interval_s;
        let rollbacks = each(old.rollbacks, new.rollbacks);
        let hit = (new.blocks_hit - old.blocks_hit) as f64;
        let read = (new.blocks_read - old.blocks_read) as f64;
        Some(Self {
            interval_s,
            transactions: commits + rollbacks,
            rollbacks,
            hit_share: (hit + read > 0.0).then(|| hit / (hit + read)),
            rows: [
                each(old.rows_returned, new.rows_returned),
                each(old.rows_inserted, new.rows_inserted),
                each(old.rows_updated, new.rows_updated),
                each(old.rows_deleted, new.rows_deleted),
            ],
            temp_bytes: each(old.temp_bytes, new.temp_bytes),
            deadlocks: new.deadlocks - old.deadlocks,
        })
    }

    fn line(&self) -> String {
        let [read, inserted, updated, deleted] = self.rows.map(count);
        let hit = self.hit_share.map_or("-".to_owned(), |it| format!("{:.1} %", it * 100.0));
        format!(
            " tps: {}  rollbacks/s: {}  hit: {hit}  rows/s Se/In/Up/De: \
             {read}/{inserted}/{updated}/{deleted}",
            count(self.transactions),
            count(self.rollbacks)
        )
    }
}
