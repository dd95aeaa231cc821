//! Names the views, and says what each needs, which columns it has and how it is sorted at first.
//!
//! Never here: what is in the rows.

use crate::catalog;
use crate::listing::{ListColumn, ListOrder};

/// A view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PgView {
    /// All sessions, the longest query first.
    #[default]
    Running,
    /// Sessions that wait for a lock.
    Waiting,
    /// Sessions that others wait for.
    Blocking,
    /// Who waits for whom, as a tree.
    Locks,
    /// Statements by what they did since the frame before.
    Statements,
    /// What sessions waited for, over time.
    Waits,
    /// Reads and writes.
    InputOutput,
    /// Standbys and slots.
    Replication,
    /// How far long commands are.
    Progress,
    /// Databases.
    Databases,
    /// Tables of the database that is connected to.
    Tables,
    /// Indexes of the database that is connected to.
    Indexes,
    /// Checkpoints, buffers and WAL that the server writes.
    Writes,
}

impl PgView {
    /// All of them, by their keys `1` to `9`, `0`, `-`, `=`, `w`.
    pub const ALL: [Self; 13] = [
        Self::Running,
        Self::Waiting,
        Self::Blocking,
        Self::Locks,
        Self::Statements,
        Self::Waits,
        Self::InputOutput,
        Self::Replication,
        Self::Progress,
        Self::Databases,
        Self::Tables,
        Self::Indexes,
        Self::Writes,
    ];
    /// The keys, in this order.
    pub const KEYS: &'static str = "1234567890-=w";

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Blocking => "blocking",
            Self::Locks => "locks",
            Self::Statements => "statements",
            Self::Waits => "waits",
            Self::InputOutput => "io",
            Self::Replication => "replication",
            Self::Progress => "progress",
            Self::Databases => "databases",
            Self::Tables => "tables",
            Self::Indexes => "indexes",
            Self::Writes => "writes",
        }
    }

    /// Returns a view by its name, or by what pgtop calls its mode.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "t" | "thread" => Some(Self::Running),
            "m" | "qps" => Some(Self::Databases),
            "c" | "cmd" => Some(Self::Statements),
            name => Self::ALL.into_iter().find(|view| view.name() == name),
        }
    }

    /// Returns the names of all, as a sentence lists them.
    pub fn names() -> String {
        let names = Self::ALL.map(Self::name);
        let (last, others) = names.split_last().expect("there are views");
        format!("{} or {last}", others.join(", "))
    }

    /// Returns whether it needs to know who blocks whom.
    pub fn needs_locks(self) -> bool {
        matches!(self, Self::Waiting | Self::Blocking | Self::Locks)
    }

    /// Returns whether it is read from a catalog, and so shows what was counted between frames.
    pub fn is_catalog(self) -> bool {
        catalog::view(self.name()).is_some()
    }

    /// Returns the order that it begins with.
    pub fn order(self) -> ListOrder {
        let column = match catalog::view(self.name()) {
            Some(view) => view.columns.iter().position(|(title, _)| *title == view.sort),
            None => columns(self).iter().position(|it| it.title == "Time"),
        };
        ListOrder { column: column.unwrap_or(0), descends: true }
    }
}

/// The columns of a view of sessions.
pub(super) fn columns(view: PgView) -> Vec<ListColumn> {
    let text = |title, width| ListColumn { title, is_number: false, width };
    let number = |title, width| ListColumn { title, is_number: true, width };
    let mut all = vec![
        number("Id", 8),
        text("User", 9),
        text("Host/IP", 15),
        text("DB", 10),
        number("Time", 9),
    ];
    match view {
        PgView::Waiting => all.extend([text("Lock", 36), text("Blocked by", 12)]),
        PgView::Blocking => {
            all.extend([
                number("Blocks", 6),
                number("In all", 6),
                text("Blocked by", 12),
                number("Xact", 7),
                text("Cmd", 12),
            ]);
        }
        _ => all.extend([text("Cmd", 12), text("Wait", 20)]),
    }
    all.push(text("Query or State", 0));
    all
}
