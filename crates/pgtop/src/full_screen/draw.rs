//! Draws the state: the views, the header, the list or the chart, and a row at the bottom.
//!
//! Invariant: drawing changes nothing, and any size will do: what does not fit is left out.

mod chart;
mod list;

use screen::{Ink, Pane, cut, width_of};

use super::state::TopScreen;
use crate::header::HeaderFigures;
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
            view.text((0, 0), Ink::Bold, &notice.title);
            let columns = view.columns().max(1);
            let lines: Vec<String> =
                notice.text.lines().flat_map(|line| folded(line, columns)).collect();
            let first = notice.first.min(lines.len().saturating_sub(1));
            for (at, line) in lines.iter().skip(first).enumerate() {
                view.text((at + 1, 0), Ink::Plain, line);
            }
        } else if self.options.view == PgView::Waits {
            chart::waits(self, &mut view);
        } else {
            list::list(self, &mut view);
        }
        bottom(self, pane);
    }
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
        let text = tab.lost.as_deref().unwrap_or("connecting …");
        pane.line(row, &[(Ink::Bold, &name), (Ink::Plain, "  "), (Ink::Second, text)]);
        return 1;
    };
    let threshold = screen.options.slow_threshold_s;
    let figures = HeaderFigures::of(frame, tab.before(PgView::Running), threshold);
    let lines = figures.lines(frame, &name, &screen.time_of_day);
    for (at, line) in lines.iter().enumerate() {
        let ink = if at == 0 { Ink::Bold } else { Ink::Plain };
        pane.text((row + at, 0), ink, line);
    }
    lines.len()
}

/// What is being entered, else a message, else how things stand.
fn bottom(screen: &TopScreen, pane: &mut Pane<'_>) {
    let Some(row) = pane.rows().checked_sub(1) else { return };
    if let Some((prompt, line)) = &screen.dialog.prompt {
        line.draw(pane, row, &prompt.title(&line.text()));
        if let (Some((ink, text)), Some(above)) = (&screen.dialog.message, row.checked_sub(1)) {
            pane.text((above, 0), Ink::Plain, &" ".repeat(pane.columns()));
            pane.text((above, 0), *ink, text);
        }
        return;
    }
    if let Some((ink, text)) = &screen.dialog.message {
        pane.text((row, 0), *ink, text);
        return;
    }
    let mut pieces: Vec<(Ink, String)> = Vec::new();
    let tab = screen.current();
    if let Some(lost) = &tab.lost {
        pieces.push((Ink::Alarm, format!("{lost}  ")));
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
