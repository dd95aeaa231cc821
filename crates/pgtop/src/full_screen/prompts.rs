//! Takes keys into the line that is being entered, and does what the line says.
//!
//! Invariants: a signal needs a typed answer, and a wrong answer signals nothing. The answer is the
//! process of one query, or the number of several. It is `yes` for those that may write, and for
//! the end of a session.

use screen::{EntryLine, Ink, Input, Key};

use super::dialog::{FilterField, SignalledQuery, TopDialog, TopPrompt};
use super::event::{SeekStep, TopAction};
use super::state::TopScreen;
use crate::config_file::delay_s;
use crate::filter::FieldMatch;
use crate::frame::PgFrame;
use crate::group::GroupPlan;
use crate::signal::{SignalKind, SignalOutcome, Victim};

/// The title of what became of several signals.
const SIGNALLED: &str = "signalled";

/// A key while a line is being entered.
pub(super) fn entered(screen: &mut TopScreen, key: Key) -> Option<TopAction> {
    let (prompt, mut line) = screen.dialog.prompt.take()?;
    match key {
        Key::Escape => {
            screen.dialog.notice = None;
            screen.dialog.say(Ink::Faint, "nothing is done");
            None
        }
        Key::Enter => {
            screen.dialog.message = None;
            answered(screen, prompt, line.text().trim())
        }
        // The list behind the question can be looked through.
        Key::Up | Key::Down | Key::PageUp | Key::PageDown if screen.dialog.notice.is_some() => {
            let notice = screen.dialog.notice.as_mut().expect("it was just seen");
            notice.first = match key {
                Key::Up => notice.first.saturating_sub(1),
                Key::PageUp => notice.first.saturating_sub(10),
                Key::Down => notice.first + 1,
                _ => notice.first + 10,
            };
            screen.dialog.prompt = Some((prompt, line));
            None
        }
        // What is refused needs no Esc before `k`.
        Key::Char('k') if matches!(prompt, TopPrompt::Refused) && line.text().is_empty() => {
            screen.input(Input::Key(key))
        }
        key => {
            if std::mem::take(&mut screen.dialog.is_prefilled) && matches!(key, Key::Char(_)) {
                line = EntryLine::default();
            }
            line.key(key);
            screen.dialog.prompt = Some((prompt, line));
            None
        }
    }
}

fn answered(screen: &mut TopScreen, prompt: TopPrompt, text: &str) -> Option<TopAction> {
    match prompt {
        TopPrompt::Filter(field) => {
            if let Err(error) = set_filter(screen, field, text) {
                screen.dialog.say(Ink::Alarm, error);
                screen.dialog.ask(TopPrompt::Filter(field), text);
                screen.dialog.is_prefilled = false;
            }
            None
        }
        TopPrompt::Delay => match delay_s(text) {
            Ok(seconds) => {
                screen.options.delay_s = seconds;
                Some(TopAction::Delay(seconds))
            }
            Err(error) => refused(screen, error),
        },
        TopPrompt::TimeOfDay => match seconds_of_day(text) {
            Some(seconds) => Some(TopAction::Seek(SeekStep::TimeOfDay(seconds))),
            None => refused(screen, format!("`{text}` is no time such as 14:05")),
        },
        TopPrompt::Cancel(all) => cancel(screen, all, text),
        TopPrompt::Terminate(victim) => match text {
            "yes" => {
                let idle = SignalKind::TerminateIdle;
                let kind = if victim.is_running { SignalKind::Terminate } else { idle };
                signal(screen, kind, vec![*victim])
            }
            _ => refused(screen, "not ended: that was not `yes`"),
        },
        TopPrompt::Refused => None,
        TopPrompt::GroupSeconds => plan(screen, text),
        TopPrompt::GroupCount(plan) => {
            if text != plan.count().to_string() {
                screen.dialog.notice = None;
                return refused(
                    screen,
                    format!("nothing is cancelled: that was not {}", plan.count()),
                );
            }
            if plan.writers.is_empty() {
                return signal(screen, SignalKind::Cancel, plan.readers);
            }
            screen.dialog.ask(TopPrompt::GroupWriters(plan), "");
            None
        }
        TopPrompt::GroupWriters(plan) => with_writers(screen, plan, text),
    }
}

fn refused(screen: &mut TopScreen, reason: impl Into<String>) -> Option<TopAction> {
    screen.dialog.say(Ink::Second, reason);
    None
}

fn cancel(screen: &mut TopScreen, all: Vec<Victim>, text: &str) -> Option<TopAction> {
    let wanted = text.parse::<i32>().ok();
    match all.into_iter().find(|victim| Some(victim.identity.pid) == wanted) {
        Some(victim) if victim.is_hidden => {
            let hidden = screen.current().shown().and_then(|frame| frame.hidden());
            let text = format!("hidden: {}", hidden.map_or("", |(_, grant)| grant));
            refused(screen, text)
        }
        Some(victim) if !victim.is_running => {
            let tab = screen.tab;
            screen.tabs[tab].cancelled.insert(victim.identity);
            refused(screen, "no query runs there; X ends the session")
        }
        Some(victim) => signal(screen, SignalKind::Cancel, vec![victim]),
        None => refused(screen, format!("no session `{text}` was on the screen")),
    }
}

fn plan(screen: &mut TopScreen, text: &str) -> Option<TopAction> {
    let frame = screen.current().shown()?;
    let seconds = text.parse().unwrap_or(f64::NAN);
    match GroupPlan::of(frame, &screen.options.filter, seconds) {
        Err(mut reason) => {
            if let Some((count, grant)) = frame.hidden() {
                reason += &format!("; {count} sessions are hidden: {grant}");
            }
            refused(screen, reason)
        }
        Ok(plan) => {
            screen.dialog.show(format!("to be cancelled: {}", plan.count()), dry_run(&plan));
            screen.dialog.ask(TopPrompt::GroupCount(plan), "");
            None
        }
    }
}

fn with_writers(screen: &mut TopScreen, plan: GroupPlan, text: &str) -> Option<TopAction> {
    let mut victims = plan.readers.clone();
    match text {
        "yes" => victims.extend(plan.writers),
        "no" if !victims.is_empty() => {}
        "no" => {
            screen.dialog.notice = None;
            return refused(screen, "nothing is cancelled: all of them may write");
        }
        _ => {
            screen.dialog.say(Ink::Second, "yes or no");
            screen.dialog.ask(TopPrompt::GroupWriters(plan), "");
            return None;
        }
    }
    signal(screen, SignalKind::Cancel, victims)
}

fn signal(screen: &mut TopScreen, kind: SignalKind, victims: Vec<Victim>) -> Option<TopAction> {
    screen.dialog.notice = None;
    screen.dialog.say(Ink::Faint, "signalling …");
    Some(TopAction::Signal { tab: screen.tab, kind, victims })
}

/// Takes what became of signals.
pub(super) fn signalled(
    screen: &mut TopScreen,
    tab: usize,
    (kind, results): (SignalKind, &[(Victim, SignalOutcome)]),
) {
    for (victim, _) in results {
        screen.tabs[tab].cancelled.insert(victim.identity);
    }
    let query = |(victim, outcome): &(Victim, SignalOutcome)| {
        let is_open = kind == SignalKind::Cancel && *outcome == SignalOutcome::Signalled;
        SignalledQuery {
            identity: victim.identity,
            outcome: (!is_open).then(|| outcome.text(kind)),
            still_runs: false,
        }
    };
    let is_fine = results.iter().all(|(_, outcome)| *outcome == SignalOutcome::Signalled);
    let ink = if is_fine { Ink::Fine } else { Ink::Second };
    let queries: Vec<SignalledQuery> = results.iter().map(query).collect();
    let text = lines(&queries);
    if queries.len() == 1 {
        screen.dialog.say(ink, text);
    } else {
        screen.dialog.message = None;
        screen.dialog.show(SIGNALLED, text);
    }
    screen.dialog.signalled = Some((tab, queries));
}

/// Looks in a frame what became of queries that were signalled, and says so where it is still
/// shown.
pub(super) fn looked_after(dialog: &mut TopDialog, tab: usize, frame: &PgFrame) {
    let Some((_, queries)) = dialog.signalled.as_mut().filter(|(place, _)| *place == tab) else {
        return;
    };
    let before = lines(queries);
    for query in queries.iter_mut().filter(|query| query.outcome.is_none()) {
        let mut sessions = frame.sessions.iter();
        query.still_runs =
            sessions.any(|session| session.identity == query.identity && session.is_running());
        if !query.still_runs {
            query.outcome = Some("cancelled".to_owned());
        }
    }
    let (after, still_runs) = (lines(queries), queries.iter().any(|query| query.still_runs));
    if let Some(message) = dialog.message.as_ref().filter(|message| message.text == before) {
        let ink = if still_runs { Ink::Second } else { message.ink };
        if after != before {
            dialog.say(ink, after);
        }
    } else if let Some(notice) = &mut dialog.notice
        && notice.title == SIGNALLED
    {
        notice.text = after;
    }
}

fn lines(queries: &[SignalledQuery]) -> String {
    let line = |query: &SignalledQuery| {
        let what = match (&query.outcome, query.still_runs) {
            (Some(outcome), _) => outcome,
            (None, true) => "signalled; still runs; X ends the session",
            (None, false) => "signalled",
        };
        format!("{} {what}", query.identity.pid)
    };
    queries.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn set_filter(screen: &mut TopScreen, field: FilterField, text: &str) -> Result<(), String> {
    if field == FilterField::Age {
        let age = match text {
            "" => None,
            text => match text.parse::<f64>() {
                Ok(age) if age.is_finite() && age >= 0.0 => Some(age),
                _ => return Err(format!("`{text}` is no number of seconds")),
            },
        };
        screen.keeping_selection(|screen| screen.options.filter.age_s = age);
        return Ok(());
    }
    let wanted = FieldMatch::parse(text)?;
    screen.keeping_selection(|screen| {
        let filter = &mut screen.options.filter;
        let place = match field {
            FilterField::User => &mut filter.user,
            FilterField::Database => &mut filter.database,
            FilterField::Host => &mut filter.host,
            FilterField::Text | FilterField::Age => &mut filter.text,
        };
        *place = wanted;
    });
    Ok(())
}

/// The queries of a plan as lines.
fn dry_run(plan: &GroupPlan) -> String {
    let line = |mark: &str, victim: &Victim| {
        format!(
            "{:>8} {:>7.0} s  {:<9} {:<10} {mark}{}",
            victim.identity.pid, victim.seconds, victim.user, victim.database, victim.query
        )
    };
    let readers = plan.readers.iter().map(|victim| line("", victim));
    let writers = plan.writers.iter().map(|victim| line("WRITES ", victim));
    readers.chain(writers).collect::<Vec<_>>().join("\n")
}

/// Seconds since midnight of `HH:MM` or `HH:MM:SS`.
fn seconds_of_day(text: &str) -> Option<i64> {
    let numbers: Vec<i64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hour, minute, second) = match numbers[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second);
    is_time.then_some(hour * 3600 + minute * 60 + second)
}
