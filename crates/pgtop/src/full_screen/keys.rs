//! Says what each key does; a line that is being entered is in `prompts.rs`.
//!
//! A text over the view takes the keys that move, and any other key closes it. `KEYS` is what `?`
//! shows. Letters are pgtop's where it has them.

use screen::{EntryLine, Ink, Input, Key, padded};

use super::dialog::{FilterField, TopPrompt};
use super::draw::lines_of;
use super::event::{SeekStep, TopAction};
use super::prompts;
use super::state::TopScreen;
use crate::signal::Victim;
use crate::view::PgView;

/// Bars that can be moved over; more than any screen has columns.
const BARS_MAX: usize = 500;

/// In an order that two columns of `HELP_COLUMNS` show well.
pub(super) const KEYS: [(&str, &str); 30] = [
    ("1-9 0 -=w", "views, as in the first row"),
    ("Tab", "the next view"),
    ("t m c", "running, databases, statements"),
    ("arrows", "move; in waits drill down"),
    ("< >", "sort by; in waits: a bar"),
    ("z Z", "in waits: wider, narrower"),
    ("o", "the other order"),
    ("/", "filter by text, /re/"),
    ("u d h", "by user, database, host"),
    ("a", "by age in seconds"),
    ("F", "no filter"),
    ("i", "idle sessions, or not"),
    ("f Enter", "the whole query"),
    ("e", "its plan"),
    ("y", "copy the query"),
    ("k", "cancel the selected query"),
    ("K", "cancel all slower than N s"),
    ("X", "end the session, after k"),
    ("p space", "pause"),
    (", .", "a frame back, a frame on"),
    ("{ }", "recording: a minute back, on"),
    ("@", "recording: to a time"),
    ("[ ]", "another server"),
    ("s", "seconds between frames"),
    ("r", "count from now on, or not"),
    ("H", "the header, or not"),
    ("D", "settings, and what is missing"),
    ("?", "these keys"),
    ("Esc", "leave a line, a text, a level"),
    ("q", "quit; in a text: close it"),
];
/// Columns of one column of `?`, and of the keys in it.
const HELP_COLUMNS: usize = 40;
const KEY_COLUMNS: usize = 9;

impl TopScreen {
    pub(super) fn input(&mut self, input: Input) -> Option<TopAction> {
        match input {
            Input::Resized(..) => None,
            Input::Paste(text) => {
                let is_prefilled = std::mem::take(&mut self.dialog.is_prefilled);
                if let Some((_, line)) = &mut self.dialog.prompt {
                    if is_prefilled {
                        *line = EntryLine::default();
                    }
                    line.paste(&text);
                }
                None
            }
            Input::Key(Key::Interrupt) => Some(TopAction::Quit),
            Input::Key(key) => {
                if self.dialog.prompt.is_some() {
                    return prompts::entered(self, key);
                }
                if self.dialog.notice.is_some() {
                    return in_notice(self, key);
                }
                self.dialog.message = None;
                self.pressed(key)
            }
        }
    }

    fn pressed(&mut self, key: Key) -> Option<TopAction> {
        match key {
            Key::Char('q') => return Some(TopAction::Quit),
            Key::Char('?') => show_keys(self),
            Key::Char('t') => return self.turn(PgView::Running),
            Key::Char('m') => return self.turn(PgView::Databases),
            Key::Char('c') => return self.turn(PgView::Statements),
            Key::Char('p' | ' ') => self.pause(),
            Key::Char('H') => self.options.has_header = !self.options.has_header,
            Key::Char('D') => show_settings(self),
            Key::Char('o') => self.options.order.descends = !self.options.order.descends,
            Key::Char('i') => {
                self.keeping_selection(|screen| {
                    screen.options.filter.shows_idle = !screen.options.filter.shows_idle;
                });
            }
            Key::Char(']') => return self.next_server(1),
            Key::Char('[') => return self.next_server(self.tabs.len() - 1),
            Key::Tab => return self.next_view(1),
            Key::BackTab => return self.next_view(PgView::ALL.len() - 1),
            Key::Char(key) if PgView::KEYS.contains(key) => {
                let at = PgView::KEYS.find(key).expect("it is among them");
                return self.turn(PgView::ALL[at]);
            }
            Key::Char(key @ ('u' | 'd' | 'h' | '/' | 'a' | 'F')) => filter_key(self, key),
            Key::Char(key @ (',' | '.' | '{' | '}' | '@')) => return time_key(self, key),
            Key::Char(key @ ('k' | 'K' | 'X')) => kill_key(self, key),
            Key::Char(key @ ('s' | 'r')) => counter_key(self, key),
            key if self.options.view == PgView::Waits => in_waits(self, key),
            key => return self.in_list(key),
        }
        None
    }

    fn pause(&mut self) {
        self.is_paused = !self.is_paused;
        if !self.is_paused {
            self.keeping_selection(|screen| screen.tabs.iter_mut().for_each(|tab| tab.back = 0));
        }
    }

    fn next_server(&mut self, by: usize) -> Option<TopAction> {
        self.tab = (self.tab + by) % self.tabs.len();
        self.scroll = screen::Scroll::default();
        self.changed()
    }

    fn next_view(&mut self, by: usize) -> Option<TopAction> {
        let at = PgView::ALL.into_iter().position(|view| view == self.options.view).unwrap_or(0);
        self.turn(PgView::ALL[(at + by) % PgView::ALL.len()])
    }

    fn in_list(&mut self, key: Key) -> Option<TopAction> {
        match key {
            Key::Char('f') | Key::Enter => return self.about_query(TopAction::WholeText),
            Key::Char('e') => return self.about_query(TopAction::Explain),
            Key::Char('y') => {
                let text = self.selected().map(|session| session.query.clone());
                return text.or_else(|| self.selected_text()).map(TopAction::Copy);
            }
            Key::Char('<') => sort_by(self, -1),
            Key::Char('>') => sort_by(self, 1),
            key => {
                let count = self.list().rows.len();
                let rows = self.list_rows();
                self.scroll.key(key, count, rows);
            }
        }
        None
    }

    fn about_query(&mut self, action: fn(usize, Victim) -> TopAction) -> Option<TopAction> {
        let Some(victim) = self.victim() else {
            let text = self.selected_text()?;
            self.dialog.show("text", text);
            return None;
        };
        if victim.is_hidden {
            let hidden = self.current().shown().and_then(|frame| frame.hidden());
            let text = format!("hidden: {}", hidden.map_or("", |(_, grant)| grant));
            self.dialog.say(Ink::Second, text);
            return None;
        }
        if self.options.is_replay {
            let text = self.selected().map(|session| session.query.clone());
            self.dialog.show(format!("query of {}", victim.identity.pid), text.unwrap_or_default());
            return None;
        }
        Some(action(self.tab, victim))
    }

    /// The last column of the selected row.
    fn selected_text(&self) -> Option<String> {
        let list = self.list();
        let row = list.rows.get(self.scroll.selected(list.rows.len())?)?;
        row.cells.last().map(|cell| cell.text.clone())
    }
}

fn show_keys(screen: &mut TopScreen) {
    let line = |(key, what): &(&str, &str)| format!("{} {what}", padded(key, KEY_COLUMNS, false));
    // Where two columns fit, all keys are to be seen in 24 rows.
    let columns = if screen.options.size.0 >= 2 * HELP_COLUMNS { 2 } else { 1 };
    let (left, right) = KEYS.split_at(KEYS.len().div_ceil(columns));
    let lines = left.iter().enumerate().map(|(at, key)| match right.get(at) {
        Some(other) => format!("{}{}", padded(&line(key), HELP_COLUMNS, false), line(other)),
        None => line(key),
    });
    screen.dialog.show("keys", lines.collect::<Vec<_>>().join("\n"));
}

fn show_settings(screen: &mut TopScreen) {
    let missing = screen.current().shown().map_or(&[][..], |frame| &frame.missing);
    let missing = missing.iter().map(String::as_str).chain(screen.rights());
    let missing = missing.map(|text| format!("\nmissing         {text}")).collect::<String>();
    screen.dialog.show("settings", format!("{}{missing}", screen.options.settings));
}

fn filter_key(screen: &mut TopScreen, key: char) {
    let filter = &screen.options.filter;
    let shown = |field: &Option<crate::FieldMatch>| {
        field.as_ref().map(crate::FieldMatch::shown).unwrap_or_default()
    };
    let (field, text) = match key {
        'u' => (FilterField::User, shown(&filter.user)),
        'd' => (FilterField::Database, shown(&filter.database)),
        'h' => (FilterField::Host, shown(&filter.host)),
        '/' => (FilterField::Text, shown(&filter.text)),
        'a' => (FilterField::Age, filter.age_s.map(|age| age.to_string()).unwrap_or_default()),
        _ => {
            let shows_idle = filter.shows_idle;
            screen.options.filter = crate::SessionFilter { shows_idle, ..Default::default() };
            return;
        }
    };
    screen.dialog.ask(TopPrompt::Filter(field), &text);
}

/// A key that moves in time.
fn time_key(screen: &mut TopScreen, key: char) -> Option<TopAction> {
    if screen.options.is_replay {
        let step = match key {
            ',' => SeekStep::Frames(-1),
            '.' => SeekStep::Frames(1),
            '{' => SeekStep::Seconds(-60),
            '}' => SeekStep::Seconds(60),
            _ => {
                screen.dialog.ask(TopPrompt::TimeOfDay, "");
                return None;
            }
        };
        return Some(TopAction::Seek(step));
    }
    let by = match key {
        ',' => -1,
        '.' => 1,
        _ => {
            screen.dialog.say(Ink::Second, "that is for recordings: --record, --replay");
            return None;
        }
    };
    screen.is_paused = true;
    let mut could = false;
    screen.keeping_selection(|screen| could = screen.tabs[screen.tab].step(by));
    if !could {
        screen.dialog.say(Ink::Second, "no frame there is kept");
    }
    None
}

fn kill_key(screen: &mut TopScreen, key: char) {
    if screen.options.is_replay {
        return screen.dialog.say(Ink::Second, "nothing is signalled from a recording");
    }
    if let Some(reason) = screen.options.unrecorded.take() {
        screen.dialog.say(Ink::Alarm, reason);
    }
    let Some(frame) = screen.current().shown() else { return };
    match (key, screen.victim()) {
        ('K', _) => screen.dialog.ask(TopPrompt::GroupSeconds, "60"),
        (_, None) => screen.dialog.say(Ink::Second, "no session is selected"),
        ('k', Some(victim)) => {
            let now = frame.time_us;
            let all = frame.sessions.iter().map(|session| Victim::of(session, now)).collect();
            screen.dialog.ask(TopPrompt::Cancel(all), &victim.identity.pid.to_string());
        }
        (_, Some(victim)) if screen.current().cancelled.contains(&victim.identity) => {
            screen.dialog.ask(TopPrompt::Terminate(Box::new(victim)), "");
        }
        (_, Some(_)) => screen.dialog.ask(TopPrompt::Refused, ""),
    }
}

fn counter_key(screen: &mut TopScreen, key: char) {
    if key == 's' {
        screen.dialog.ask(TopPrompt::Delay, &screen.options.delay_s.to_string());
    } else if screen.options.is_replay {
        screen.dialog.say(Ink::Second, "a recording is counted from frame to frame");
    } else if screen.tabs[screen.tab].reset_counters() {
        screen.dialog.say(Ink::Fine, "counted from now on; r counts from frame to frame again");
    } else {
        screen.dialog.say(Ink::Fine, "counted from frame to frame");
    }
}

fn in_waits(screen: &mut TopScreen, key: Key) {
    match key {
        Key::Char('<') => screen.waits.move_bar(true, BARS_MAX),
        Key::Char('>') => screen.waits.move_bar(false, BARS_MAX),
        Key::Char('z') => screen.waits.zoom(true),
        Key::Char('Z') => screen.waits.zoom(false),
        Key::Left | Key::Escape | Key::Backspace => screen.waits.leave(),
        key => {
            let shares = screen.wait_shares();
            let selected = screen.waits.scroll.selected(shares.len());
            match (key, selected) {
                (Key::Right | Key::Enter, Some(at)) => {
                    screen.waits.enter(shares[at].label.clone());
                }
                _ => {
                    let rows = screen.list_rows() / 2;
                    screen.waits.scroll.key(key, shares.len(), rows);
                }
            }
        }
    }
}

fn in_notice(screen: &mut TopScreen, key: Key) -> Option<TopAction> {
    let page = screen.list_rows().max(1);
    let columns = screen.options.size.0;
    let notice = screen.dialog.notice.as_mut()?;
    let last = lines_of(notice, columns).len().saturating_sub(page);
    match key {
        Key::Up => notice.first = notice.first.saturating_sub(1),
        Key::Down => notice.first = (notice.first + 1).min(last),
        Key::PageUp => notice.first = notice.first.saturating_sub(page),
        Key::PageDown => notice.first = (notice.first + page).min(last),
        Key::Home => notice.first = 0,
        Key::Char('y') => return Some(TopAction::Copy(notice.text.clone())),
        _ => screen.dialog.notice = None,
    }
    None
}

fn sort_by(screen: &mut TopScreen, by: i64) {
    let count = screen.list().columns.len() as i64;
    if count > 0 {
        let column = (screen.options.order.column as i64 + by).rem_euclid(count);
        screen.options.order.column = column as usize;
    }
}
