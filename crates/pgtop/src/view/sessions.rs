//! Lists sessions: all, those that wait for a lock, and those that others wait for.
//!
//! The columns are pgtop's, with what it waits for; `Time` is in seconds. Processes of the server
//! that work for no database are left out.

use std::collections::{HashMap, HashSet};

use screen::Ink;
use serde_json::Value;

use super::frames::ViewedFrames;
use super::kind::{PgView, columns};
use crate::filter::{SessionFilter, host};
use crate::frame::PgSession;
use crate::listing::{ListCell, ListRow, ViewList};
use crate::units::seconds;

pub(super) fn listing(view: PgView, frames: &ViewedFrames<'_>, filter: &SessionFilter) -> ViewList {
    let frame = frames.frame;
    let mut waiters: HashMap<i32, HashSet<i32>> = HashMap::new();
    for session in &frame.sessions {
        let blockers = session.blocked.iter().flat_map(|blocked| &blocked.blockers);
        for pid in blockers {
            waiters.entry(*pid).or_default().insert(session.identity.pid);
        }
    }
    let chosen = frame.sessions.iter().filter(|session| match view {
        PgView::Waiting => session.waits_for_lock(),
        PgView::Blocking => waiters.contains_key(&session.identity.pid),
        _ => !session.client.database.is_empty() || session.is_client(),
    });
    let rows = chosen.filter(|session| filter.selects(session, frame.time_us)).map(|session| {
        let pid = session.identity.pid;
        let direct = waiters.get(&pid).map_or(0, HashSet::len);
        row((view, [direct, waiting_in_all(&waiters, pid)]), session, frames)
    });
    ViewList { columns: columns(view), rows: rows.collect() }
}

/// How many wait for a session, or for one that waits for it, and so on.
fn waiting_in_all(waiters: &HashMap<i32, HashSet<i32>>, pid: i32) -> usize {
    let mut found = HashSet::new();
    let mut open = vec![pid];
    while let Some(next) = open.pop() {
        for waiter in waiters.get(&next).into_iter().flatten() {
            if *waiter != pid && found.insert(*waiter) {
                open.push(*waiter);
            }
        }
    }
    found.len()
}

fn row(
    (view, blocks): (PgView, [usize; 2]),
    session: &PgSession,
    frames: &ViewedFrames<'_>,
) -> ListRow {
    let now = frames.frame.time_us;
    let age = |since: Option<i64>| match since {
        Some(since) => {
            let age = (now - since).max(0) as f64 / 1e6;
            ListCell::number(age, seconds(age))
        }
        None => ListCell::default(),
    };
    let number = |number: f64| ListCell::number(number, number.to_string());
    let client = &session.client;
    let blocked = session.blocked.as_ref();
    let blockers = blocked.map_or(String::new(), |blocked| {
        blocked.blockers.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
    });
    let time = match view {
        PgView::Waiting => blocked.and_then(|it| it.start_us).or_else(|| session.since_us()),
        _ => session.since_us(),
    };
    let mut cells = vec![
        number(session.identity.pid.into()),
        ListCell::text(&*client.user),
        ListCell::text(host(session)),
        ListCell::text(&*client.database),
        age(time),
    ];
    match view {
        PgView::Waiting => {
            let event = session.wait_event();
            let lock = blocked.map_or(event, |blocked| &blocked.lock);
            cells.extend([ListCell::text(lock), ListCell::text(blockers)]);
        }
        PgView::Blocking => cells.extend([
            number(blocks[0] as f64),
            number(blocks[1] as f64),
            ListCell::text(blockers),
            age(session.transaction_start_us),
            ListCell::text(command(session)),
        ]),
        _ => cells.extend([ListCell::text(command(session)), ListCell::text(wait(session))]),
    }
    cells.push(ListCell::text(query(session)));
    let is_slow = session.is_running()
        && session.age_us(now).is_some_and(|age| age as f64 / 1e6 > frames.slow_threshold_s);
    let ink = match session.state.as_str() {
        _ if is_slow => Ink::Slow,
        _ if session.is_running() && session.waits_for_lock() => Ink::Alarm,
        _ if session.is_running() => Ink::Second,
        "idle" => Ink::Plain,
        _ if session.is_idle_in_transaction() => Ink::First,
        _ => Ink::Plain,
    };
    let facts = match view {
        PgView::Waiting | PgView::Blocking => vec![blocked_by(session)],
        _ => Vec::new(),
    };
    ListRow { cells, ink, session: Some(session.identity), facts }
}

/// The processes that a session waits for, for JSON.
pub(super) fn blocked_by(session: &PgSession) -> (&'static str, Value) {
    let blockers = session.blocked.as_ref().map_or(&[][..], |blocked| &blocked.blockers);
    ("blocked_by", Value::from(blockers))
}

/// pgtop's word for what a session does; a worker's kind.
pub(super) fn command(session: &PgSession) -> String {
    match session.state.as_str() {
        _ if !session.is_client() => session.kind.clone(),
        "active" => "Query".to_owned(),
        "idle" => "Sleep".to_owned(),
        "idle in transaction" => "Idle xact".to_owned(),
        "idle in transaction (aborted)" => "Aborted xact".to_owned(),
        other => other.to_owned(),
    }
}

/// What a session that runs a query waits for; `CPU` where it waits for nothing.
fn wait(session: &PgSession) -> String {
    match &session.wait {
        // A client that says nothing is no wait of the server.
        _ if session.state == "idle" => String::new(),
        Some((class, event)) => format!("{class}:{event}"),
        None if session.state == "active" => "CPU".to_owned(),
        None => String::new(),
    }
}

/// A query in one line. An idle session's is its last one, which is over.
pub(super) fn query(session: &PgSession) -> String {
    let line = session.query.split_whitespace().collect::<Vec<_>>().join(" ");
    match session.state.as_str() {
        "idle" if line.is_empty() => "(idle)".to_owned(),
        "idle" => format!("(idle) {line}"),
        _ if line.is_empty() => session.state.clone(),
        _ => line,
    }
}
