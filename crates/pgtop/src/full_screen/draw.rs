//! Draws the state: the views, the header, the list or the chart, and a row at the bottom.
//!
//! Invariant: drawing changes nothing, and any size will do: what does not fit is left out.

mod chart;
mod clock_axis;
mod list;
mod wait_looks;

use screen::{Ink, Pane, cut, width_of};

use super::dialog::TopNotice;
use super::state::TopScreen;
use super::tab::LostServer;
use crate::header::HeaderFigures;
use crate::units::span;
use crate::view::PgView;

/// What stands behind the views.
const HELP: &str = "  ? keys  q quit";
/// A narrower terminal has no room for it.
const HELP_FROM_COLUMNS: usize = 40;

impl TopScreen {
    /// Draws everything.
    pub fn draw(&self, pane: &mut Pane<'_>) {
        views(self, pane);
        let mut row = 1;
        if self.options.has_header {
            row += header(self, pane, row);
        }
        let rows = pane.rows().saturating_sub(row + 1);
        let mut view = pane.part(row, rows);
        if let Some(notice) = &self.dialog.notice {
            text_over(notice, &mut view);
        } else if self.options.view == PgView::Waits {
            chart::waits(self, &mut view);
        } else {
            list::list(self, &mut view);
        }
        bottom(self, pane);
    }
}

/// Draws a text, and says which part of it is to be seen.
fn text_over(notice: &TopNotice, pane: &mut Pane<'_>) {
    let lines = lines_of(notice, pane.columns());
    let rows = pane.rows().saturating_sub(1);
    let first = notice.first.min(lines.len().saturating_sub(rows));
    let last = (first + rows).min(lines.len());
    let part = match rows {
        _ if last - first == lines.len() => String::new(),
        _ => format!("  {} to {last} of {}, PgDn, PgUp", first + 1, lines.len()),
    };
    pane.line(0, &[(Ink::Bold, &notice.title), (Ink::Faint, &part)]);
    for (at, line) in lines[first..last].iter().enumerate() {
        pane.text((at + 1, 0), Ink::Plain, line);
    }
}

/// The lines that a text has in so many columns.
pub(super) fn lines_of(notice: &TopNotice, columns: usize) -> Vec<String> {
    notice.text.lines().flat_map(|line| folded(line, columns.max(1))).collect()
}

/// A line in pieces of so many columns. Plans are indented, so no space is taken away.
fn folded(line: &str, columns: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut width = 0;
    for character in line.replace('\t', "    ").chars() {
        let more = width_of(character.encode_utf8(&mut [0; 4]));
        if width + more > columns {
            pieces.push(String::new());
            width = 0;
        }
        width += more;
        pieces.last_mut().expect("there is a first piece").push(character);
    }
    pieces
}

fn views(screen: &TopScreen, pane: &mut Pane<'_>) {
    let mut column = 0;
    // In a narrow terminal the view that is shown comes first.
    let width: usize = PgView::ALL.iter().map(|view| view.name().len() + 4).sum();
    let is_narrow = width > pane.columns();
    let at = PgView::ALL.iter().position(|view| *view == screen.options.view).unwrap_or(0);
    let first = if is_narrow { at } else { 0 };
    let has_help = pane.columns() >= HELP_FROM_COLUMNS;
    let room = pane.columns() - if has_help { width_of(HELP) } else { 0 };
    for at in first..PgView::ALL.len() {
        let view = PgView::ALL[at];
        let is_this = view == screen.options.view;
        let (left, right) = if is_this { ('[', ']') } else { (' ', ' ') };
        let key = &PgView::KEYS[at..=at];
        let text = format!("{left}{key} {}{right}", view.name());
        let ink = if is_this { Ink::Bold } else { Ink::Faint };
        if at > first && column + width_of(&text) > room {
            break;
        }
        column = pane.text((0, column), ink, &text);
    }
    if has_help {
        pane.text((0, column), Ink::Faint, HELP);
    }
}

/// Draws the header, and returns its rows.
fn header(screen: &TopScreen, pane: &mut Pane<'_>, row: usize) -> usize {
    let tab = screen.current();
    let mut name = tab.name.clone();
    if screen.tabs.len() > 1 {
        name = format!("{name} [{}/{}]", screen.tab + 1, screen.tabs.len());
    }
    let Some(frame) = tab.shown() else {
        let lost = tab.lost.as_ref();
        let text =
            lost.map_or("connecting …".to_owned(), |it| format!("{} {}", it.what, it.reason));
        pane.line(row, &[(Ink::Bold, &name), (Ink::Plain, "  "), (Ink::Second, &text)]);
        return 1;
    };
    let threshold = screen.options.slow_threshold_s;
    let figures = HeaderFigures::of(frame, tab.before(PgView::Running), threshold);
    let time_of_day = screen.time_of_day(frame.time_us);
    let mut lines = figures.lines(frame, &name, &time_of_day);
    // Figures of a server that has gone are none of now.
    let inks = match &tab.lost {
        None => [Ink::Bold, Ink::Plain],
        Some(lost) => {
            lines[0] = format!("{name}  {}; figures are of {time_of_day}", gone(screen, lost));
            [Ink::Alarm, Ink::Faint]
        }
    };
    for (at, line) in lines.iter().enumerate() {
        pane.text((row + at, 0), inks[at.min(1)], line);
    }
    let Some(rights) = screen.rights() else { return lines.len() };
    pane.text((row + lines.len(), 0), Ink::Second, &format!(" {rights}"));
    lines.len() + 1
}

/// Since when a server cannot be read.
fn gone(screen: &TopScreen, lost: &LostServer) -> String {
    let seconds = (screen.now_us - lost.since_us).max(0) / 1_000_000;
    let since = screen.time_of_day(lost.since_us);
    format!("{} since {since}, for {}", lost.what, span(seconds))
}

/// What is being entered, else a message, else how things stand.
fn bottom(screen: &TopScreen, pane: &mut Pane<'_>) {
    let Some(row) = pane.rows().checked_sub(1) else { return };
    if let Some((prompt, line)) = &screen.dialog.prompt {
        line.draw(pane, row, &prompt.title(&line.text()));
        if let (Some(message), Some(above)) = (&screen.dialog.message, row.checked_sub(1)) {
            pane.text((above, 0), Ink::Plain, &" ".repeat(pane.columns()));
            pane.text((above, 0), message.ink, &message.text);
        }
        return;
    }
    if let Some(message) = &screen.dialog.message {
        pane.text((row, 0), message.ink, &message.text);
        return;
    }
    let mut pieces: Vec<(Ink, String)> = Vec::new();
    let tab = screen.current();
    if let Some(lost) = &tab.lost {
        let since =
            if screen.options.has_header { lost.what.to_owned() } else { gone(screen, lost) };
        pieces.push((Ink::Alarm, format!("{since}: {}  ", lost.reason)));
    }
    if let Some((at, count)) = screen.place {
        pieces.push((Ink::Second, format!("REPLAY {} of {count}  ", at + 1)));
    }
    if screen.is_paused {
        let back = match tab.back {
            0 => String::new(),
            back => format!(" {back} back"),
        };
        pieces.push((Ink::Second, format!("PAUSED{back}  ")));
    }
    if tab.has_baseline() {
        pieces.push((Ink::Second, "counted since r  ".to_owned()));
    }
    let filter = screen.options.filter.shown();
    if !filter.is_empty() {
        pieces.push((Ink::Second, format!("filter: {}  ", cut(&filter, 60, pane.style()))));
        let unanswered = screen.view().unanswered(&screen.options.filter);
        if !unanswered.is_empty() {
            let text = format!("this view has no {}: all rows are shown  ", unanswered.join(", "));
            pieces.push((Ink::Alarm, text));
        }
    }
    if let Some(frame) = tab.shown() {
        pieces.extend(frame.missing.iter().map(|text| (Ink::Faint, format!("{text}  "))));
    }
    let pieces: Vec<(Ink, &str)> = pieces.iter().map(|(ink, text)| (*ink, &**text)).collect();
    pane.line(row, &pieces);
}
