//! What is asked and told on the screen: a line that is entered, a text over the view, a message.

use screen::{EntryLine, Ink};

use crate::frame::QueryIdentity;
use crate::group::GroupPlan;
use crate::signal::Victim;

/// Characters of a query in a question.
const QUERY_CHARACTERS: usize = 24;
/// How long a message stays.
const MESSAGE_SECONDS: i64 = 6;
/// How long one stays that says what went wrong.
const ALARM_SECONDS: i64 = 20;

/// Which filter a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FilterField {
    User,
    Database,
    Host,
    Text,
    Age,
}

/// What a line that is being entered is for.
pub(super) enum TopPrompt {
    Filter(FilterField),
    Delay,
    TimeOfDay,
    /// The process whose query is cancelled, of these that were on the screen.
    Cancel(Vec<Victim>),
    /// Nothing: what is typed after a key that was refused presses no keys.
    Refused,
    /// `yes` ends this session.
    Terminate(Box<Victim>),
    /// From how many seconds on queries are cancelled together.
    GroupSeconds,
    /// How many these are, typed as a confirmation.
    GroupCount(GroupPlan),
    /// Whether writers are among them: `yes` or `no`.
    GroupWriters(GroupPlan),
}

/// A text over the view, with the row that it is shown from.
#[derive(Debug, Clone, Default)]
pub(super) struct TopNotice {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) first: usize,
}

/// A query that was signalled.
pub(super) struct SignalledQuery {
    pub(super) identity: QueryIdentity,
    /// What became of it; nothing while that is not known.
    pub(super) outcome: Option<String>,
    /// Whether it was seen after the signal.
    pub(super) still_runs: bool,
}

/// A message in the last row, until it has been there for some seconds or a key is pressed.
pub(super) struct TopMessage {
    pub(super) ink: Ink,
    pub(super) text: String,
    /// Since when it is there; nothing before the first look at the time.
    since_us: Option<i64>,
}

/// What is asked and told.
#[derive(Default)]
pub(super) struct TopDialog {
    pub(super) prompt: Option<(TopPrompt, EntryLine)>,
    pub(super) notice: Option<TopNotice>,
    pub(super) message: Option<TopMessage>,
    /// Whether the line is as it was filled in: what is typed takes its place.
    pub(super) is_prefilled: bool,
    /// Queries that were signalled, of a server, with what is said of each.
    pub(super) signalled: Option<(usize, Vec<SignalledQuery>)>,
}

impl TopDialog {
    pub(super) fn ask(&mut self, prompt: TopPrompt, text: &str) {
        self.prompt = Some((prompt, EntryLine::new(text)));
        self.is_prefilled = true;
    }

    pub(super) fn show(&mut self, title: impl Into<String>, text: impl Into<String>) {
        self.notice = Some(TopNotice { title: title.into(), text: text.into(), first: 0 });
    }

    pub(super) fn say(&mut self, ink: Ink, text: impl Into<String>) {
        self.message = Some(TopMessage { ink, text: text.into(), since_us: None });
    }

    /// Takes a message away that has been there for long enough. What is about a line that is
    /// being entered stays.
    pub(super) fn let_messages_go(&mut self, now_us: i64) {
        let Some(message) = self.message.as_mut().filter(|_| self.prompt.is_none()) else { return };
        let seconds = if message.ink == Ink::Alarm { ALARM_SECONDS } else { MESSAGE_SECONDS };
        // A clock that is set back makes it stay no longer.
        let since_us = message.since_us.get_or_insert(now_us);
        *since_us = (*since_us).min(now_us);
        if now_us - *since_us >= seconds * 1_000_000 {
            self.message = None;
        }
    }
}

/// Whose query it is, for how long it has run, and how it begins.
fn about(victim: &Victim) -> String {
    let query: String = victim.query.chars().take(QUERY_CHARACTERS).collect();
    format!("{}, {:.0} s, `{query}`: ", victim.user, victim.seconds)
}

impl TopPrompt {
    /// What stands before the line.
    pub(super) fn title(&self, line: &str) -> String {
        match self {
            Self::Filter(FilterField::User) => "user (/re/, empty: all): ".to_owned(),
            Self::Filter(FilterField::Database) => "database (/re/, empty: all): ".to_owned(),
            Self::Filter(FilterField::Host) => "host (/re/, empty: all): ".to_owned(),
            Self::Filter(FilterField::Text) => "text (/re/, empty: all): ".to_owned(),
            Self::Filter(FilterField::Age) => "seconds at least (empty: all): ".to_owned(),
            Self::Delay => "seconds between frames: ".to_owned(),
            Self::TimeOfDay => "time, HH:MM[:SS]: ".to_owned(),
            Self::Cancel(all) => {
                let named = all.iter().find(|it| it.identity.pid.to_string() == line.trim());
                format!("{}cancel the query of Id: ", named.map_or(String::new(), about))
            }
            Self::Refused => {
                "cancel it first: k; X is for what goes on after that; Esc: ".to_owned()
            }
            Self::Terminate(it) => {
                format!("{}end session {}? type yes: ", about(it), it.identity.pid)
            }
            Self::GroupSeconds => "cancel all slower than seconds: ".to_owned(),
            Self::GroupCount(plan) => {
                format!("type {} to cancel these queries: ", plan.count())
            }
            Self::GroupWriters(plan) => {
                format!("{} may write. Cancel them, too? yes, no: ", plan.writers.len())
            }
        }
    }
}
