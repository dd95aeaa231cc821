//! Draws who waits for whom as a tree: those that hold and wait for nothing are its roots.
//!
//! `pg_blocking_pids` names the holders, and those before in the queue. A session that several
//! block stands below each. The Id is drawn with its branch; JSON has the number, and `depth`.
//! Invariant: a circle, a deadlock that the server has not broken yet, ends where it comes back to
//! a session of its own branch.
//! Bound: `ROWS_MAX` rows.

use std::collections::HashMap;

use screen::Ink;
use serde_json::Value;

use super::frames::ViewedFrames;
use super::sessions::{blocked_by, command, query};
use crate::frame::PgSession;
use crate::listing::{ListCell, ListColumn, ListRow, ViewList};
use crate::units::seconds;

const ROWS_MAX: usize = 2000;

/// What the tree is drawn of.
struct LockTree<'f> {
    now_us: i64,
    sessions: HashMap<i32, &'f PgSession>,
    /// Who waits for a process.
    waiters: HashMap<i32, Vec<i32>>,
    rows: Vec<ListRow>,
}

pub(super) fn listing(frames: &ViewedFrames<'_>) -> ViewList {
    let frame = frames.frame;
    let mut tree = LockTree {
        now_us: frame.time_us,
        sessions: frame.sessions.iter().map(|it| (it.identity.pid, it)).collect(),
        waiters: HashMap::new(),
        rows: Vec::new(),
    };
    let mut roots = Vec::new();
    for session in &frame.sessions {
        let Some(blocked) = &session.blocked else { continue };
        for pid in &blocked.blockers {
            tree.waiters.entry(*pid).or_default().push(session.identity.pid);
            let blocker = tree.sessions.get(pid);
            if blocker.is_none_or(|it| it.blocked.is_none()) && !roots.contains(pid) {
                roots.push(*pid);
            }
        }
    }
    tree.waiters.values_mut().for_each(|pids| {
        pids.sort_unstable();
        pids.dedup();
    });
    if roots.is_empty() {
        // Nothing but circles.
        roots.extend(tree.waiters.keys().copied().min());
    }
    roots.sort_unstable();
    for root in roots {
        tree.draw(root, &mut Vec::new(), "");
    }
    let text = |title, width| ListColumn { title, is_number: false, width };
    let columns = vec![
        text("Id", 20),
        text("User", 9),
        text("DB", 10),
        ListColumn { title: "Time", is_number: true, width: 9 },
        text("Cmd", 12),
        text("Wants", 40),
        text("Query or State", 0),
    ];
    ViewList { columns, rows: tree.rows }
}

impl LockTree<'_> {
    /// Draws a session with all that wait for it; `lead` stands before it.
    fn draw(&mut self, pid: i32, branch: &mut Vec<i32>, lead: &str) {
        if self.rows.len() >= ROWS_MAX {
            return;
        }
        let is_circle = branch.contains(&pid);
        let mark = if is_circle { " (circle)" } else { "" };
        let id = ListCell::number(pid.into(), format!("{lead}{pid}{mark}"));
        let mut row = self.row(id, pid);
        row.facts.push(("depth", Value::from(branch.len())));
        self.rows.push(row);
        if is_circle {
            return;
        }
        branch.push(pid);
        // Below a branch that goes on its line does, too.
        let indent = lead.replace("└ ", "  ").replace("├ ", "│ ");
        let waiters = self.waiters.get(&pid).cloned().unwrap_or_default();
        for (at, waiter) in waiters.iter().enumerate() {
            let sign = if at + 1 < waiters.len() { "├ " } else { "└ " };
            self.draw(*waiter, branch, &format!("{indent}{sign}"));
        }
        branch.pop();
    }

    fn row(&self, id: ListCell, pid: i32) -> ListRow {
        let Some(session) = self.sessions.get(&pid) else {
            let mut cells = vec![id];
            cells.resize(6, ListCell::default());
            let what = if pid == 0 { "a prepared transaction" } else { "a session that has gone" };
            cells.push(ListCell::text(what));
            return ListRow { cells, ink: Ink::Alarm, ..ListRow::default() };
        };
        let blocked = session.blocked.as_ref();
        let since = blocked.and_then(|it| it.start_us).or_else(|| session.since_us());
        let time = since.map_or_else(ListCell::default, |since| {
            let age = (self.now_us - since).max(0) as f64 / 1e6;
            ListCell::number(age, seconds(age))
        });
        let cells = vec![
            id,
            ListCell::text(&*session.client.user),
            ListCell::text(&*session.client.database),
            time,
            ListCell::text(command(session)),
            ListCell::text(blocked.map_or("", |blocked| &*blocked.lock)),
            ListCell::text(query(session)),
        ];
        let ink = if blocked.is_none() { Ink::Alarm } else { Ink::Plain };
        let facts = vec![blocked_by(session)];
        ListRow { cells, ink, session: Some(session.identity), facts }
    }
}
