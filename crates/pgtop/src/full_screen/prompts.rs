//! Takes keys into the line that is being entered, and does what the line says.
//!
//! Invariants: a signal needs a typed answer: the process of one query, the number of several, and
//! `yes` for those that may write and for the end of a session. A wrong answer signals nothing.

use screen::{Ink, Key};

use super::dialog::{FilterField, TopPrompt};
use super::event::{SeekStep, TopAction};
use super::state::TopScreen;
use crate::filter::FieldMatch;
use crate::group::GroupPlan;
use crate::signal::{SignalKind, SignalOutcome, Victim};

const DELAY_MIN_S: f64 = 0.2;

impl TopScreen {
    /// A key while a line is being entered.
    pub(super) fn entered(&mut self, key: Key) -> Option<TopAction> {
        let (prompt, mut line) = self.dialog.prompt.take()?;
        match key {
            Key::Escape => {
                self.dialog.notice = None;
                self.dialog.say(Ink::Faint, "nothing is done");
                None
            }
            Key::Enter => {
                self.dialog.message = None;
                self.answered(prompt, line.text().trim())
            }
            // The list behind the question can be looked through.
            Key::Up | Key::Down | Key::PageUp | Key::PageDown if self.dialog.notice.is_some() => {
                let notice = self.dialog.notice.as_mut().expect("it was just seen");
                notice.first = match key {
                    Key::Up => notice.first.saturating_sub(1),
                    Key::PageUp => notice.first.saturating_sub(10),
                    Key::Down => notice.first + 1,
                    _ => notice.first + 10,
                };
                self.dialog.prompt = Some((prompt, line));
                None
            }
            key => {
                line.key(key);
                self.dialog.prompt = Some((prompt, line));
                None
            }
        }
    }

    fn answered(&mut self, prompt: TopPrompt, text: &str) -> Option<TopAction> {
        match prompt {
            TopPrompt::Filter(field) => {
                if let Err(error) = self.set_filter(field, text) {
                    self.dialog.say(Ink::Alarm, error);
                    self.dialog.ask(TopPrompt::Filter(field), text);
                }
                None
            }
            TopPrompt::Delay => match text.parse::<f64>() {
                Ok(seconds) if (DELAY_MIN_S..=86_400.0).contains(&seconds) => {
                    self.options.delay_s = seconds;
                    Some(TopAction::Delay(seconds))
                }
                _ => self.refused(format!("`{text}` is no number of seconds from 0.2 on")),
            },
            TopPrompt::TimeOfDay => match seconds_of_day(text) {
                Some(seconds) => Some(TopAction::Seek(SeekStep::TimeOfDay(seconds))),
                None => self.refused(format!("`{text}` is no time such as 14:05")),
            },
            TopPrompt::Cancel(all) => self.cancel(all, text),
            TopPrompt::Terminate(victim) => match text {
                "yes" => self.signal(SignalKind::Terminate, vec![*victim]),
                _ => self.refused("not ended: that was not `yes`"),
            },
            TopPrompt::GroupSeconds => self.plan(text),
            TopPrompt::GroupCount(plan) => {
                if text != plan.count().to_string() {
                    self.dialog.notice = None;
                    return self
                        .refused(format!("nothing is cancelled: that was not {}", plan.count()));
                }
                if plan.writers.is_empty() {
                    return self.signal(SignalKind::Cancel, plan.readers);
                }
                self.dialog.ask(TopPrompt::GroupWriters(plan), "");
                None
            }
            TopPrompt::GroupWriters(plan) => self.with_writers(plan, text),
        }
    }

    fn refused(&mut self, reason: impl Into<String>) -> Option<TopAction> {
        self.dialog.say(Ink::Second, reason);
        None
    }

    fn cancel(&mut self, all: Vec<Victim>, text: &str) -> Option<TopAction> {
        let wanted = text.parse::<i32>().ok();
        match all.into_iter().find(|victim| Some(victim.identity.pid) == wanted) {
            Some(victim) => self.signal(SignalKind::Cancel, vec![victim]),
            None => self.refused(format!("no session `{text}` was on the screen")),
        }
    }

    fn plan(&mut self, text: &str) -> Option<TopAction> {
        let frame = self.current().shown()?;
        let seconds = text.parse().unwrap_or(f64::NAN);
        match GroupPlan::of(frame, &self.options.filter, seconds) {
            Err(reason) => self.refused(reason),
            Ok(plan) => {
                self.dialog.show(format!("to be cancelled: {}", plan.count()), dry_run(&plan));
                self.dialog.ask(TopPrompt::GroupCount(plan), "");
                None
            }
        }
    }

    fn with_writers(&mut self, plan: GroupPlan, text: &str) -> Option<TopAction> {
        let mut victims = plan.readers.clone();
        match text {
            "yes" => victims.extend(plan.writers),
            "no" if !victims.is_empty() => {}
            "no" => {
                self.dialog.notice = None;
                return self.refused("nothing is cancelled: all of them may write");
            }
            _ => {
                self.dialog.say(Ink::Second, "yes or no");
                self.dialog.ask(TopPrompt::GroupWriters(plan), "");
                return None;
            }
        }
        self.signal(SignalKind::Cancel, victims)
    }

    fn signal(&mut self, kind: SignalKind, victims: Vec<Victim>) -> Option<TopAction> {
        self.dialog.notice = None;
        self.dialog.say(Ink::Faint, "signalling …");
        Some(TopAction::Signal { tab: self.tab, kind, victims })
    }

    /// Takes what became of signals.
    pub(super) fn signalled(
        &mut self,
        tab: usize,
        kind: SignalKind,
        results: &[(Victim, SignalOutcome)],
    ) {
        for (victim, _) in results {
            self.tabs[tab].cancelled.insert(victim.identity);
        }
        let line = |(victim, outcome): &(Victim, SignalOutcome)| {
            format!("{} {}", victim.identity.pid, outcome.text(kind))
        };
        let is_fine = results.iter().all(|(_, outcome)| *outcome == SignalOutcome::Signalled);
        let ink = if is_fine { Ink::Fine } else { Ink::Second };
        match results {
            [one] => self.dialog.say(ink, line(one)),
            several => {
                let lines: Vec<String> = several.iter().map(line).collect();
                self.dialog.message = None;
                self.dialog.show("signalled", lines.join("\n"));
            }
        }
    }

    fn set_filter(&mut self, field: FilterField, text: &str) -> Result<(), String> {
        if field == FilterField::Age {
            let age = match text {
                "" => None,
                text => match text.parse::<f64>() {
                    Ok(age) if age.is_finite() && age >= 0.0 => Some(age),
                    _ => return Err(format!("`{text}` is no number of seconds")),
                },
            };
            self.keeping_selection(|screen| screen.options.filter.age_s = age);
            return Ok(());
        }
        let wanted = FieldMatch::parse(text)?;
        self.keeping_selection(|screen| {
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
