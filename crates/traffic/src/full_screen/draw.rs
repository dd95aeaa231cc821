//! Draws the state: two rows at the top, the view, and a row at the bottom.
//!
//! Invariant: drawing changes nothing, and any size will do: what does not fit is left out.
//! Columns of a list that do not fit go one after the other, the least telling first.
//! Never here: which keys do what (`keys.rs`).

mod charts;
mod detail;
mod list;
mod top;
mod units;

pub(super) use units::milliseconds;

use screen::{Ink, Pane, cut, number, padded, width_of, wrapped};

use super::dialog::Prompt;
use super::keys::KEYS;
use super::state::{FRAME_ROWS, FullScreen, ScreenPage};

/// The longest name of a source.
const SOURCE_COLUMNS: usize = 32;
/// The longest filter above the list; `/` shows it whole.
const FILTER_COLUMNS: usize = 32;

impl FullScreen {
    /// Draws everything.
    pub fn draw(&self, pane: &mut Pane<'_>) {
        pages(self, pane);
        status(self, pane);
        let rows = pane.rows().saturating_sub(FRAME_ROWS);
        let mut view = pane.part(2, rows);
        if self.dialog.shows_keys {
            keys(&mut view);
        } else if let Some(notice) = &self.dialog.notice {
            for (row, line) in wrapped(notice, 0, view.style()).iter().enumerate() {
                view.text((row, 0), Ink::Plain, line);
            }
        } else {
            match self.page {
                ScreenPage::List => list::list(self, &mut view),
                ScreenPage::Detail => detail::details(self, &mut view),
                ScreenPage::Top => top::top(self, &mut view),
                ScreenPage::Histogram => charts::histogram(self, &mut view),
                ScreenPage::HeatMap => charts::heat_map(self, &mut view),
            }
        }
        bottom(self, pane);
    }
}

fn pages(screen: &FullScreen, pane: &mut Pane<'_>) {
    let mut column = 0;
    for (at, page) in ScreenPage::ALL.into_iter().enumerate() {
        let ink = if page == screen.page { Ink::Bold } else { Ink::Faint };
        let (left, right) = if page == screen.page { ('[', ']') } else { (' ', ' ') };
        let text = format!("{left}{} {}{right}", at + 1, page.name());
        column = pane.text((0, column), ink, &text);
    }
    pane.text((0, column), Ink::Faint, "  ? keys  q quit");
}

fn status(screen: &FullScreen, pane: &mut Pane<'_>) {
    let style = pane.style();
    let source = cut(&screen.options.source, SOURCE_COLUMNS, style);
    let counted = number::count;
    let over_limit = screen.source.counts.over_limit
        + screen.source.counts.timed_out
        + screen.source.counts.beyond
        + screen.source.counts.over_rate;
    let seen = screen.tallies.all.exchanges() + screen.source.dropped;
    let shown = screen.listing.count() as u64;
    let exchanges = number::of(seen, "exchange", "exchanges");
    let text = format!("{exchanges}  {} shown", counted(shown));
    let rate = screen.source.rate().round();
    let text = format!("{text}  {rate}/s");
    let dropped = format!("  {} dropped", counted(screen.source.dropped));
    let over = format!("  {} over limit", counted(over_limit));
    let plain = |number: u64| if number > 0 { Ink::Alarm } else { Ink::Plain };
    let mut pieces = vec![(Ink::Bold, source), (Ink::Plain, "  ".to_owned())];
    if screen.source.is_gone && screen.source.ended.is_none() {
        pieces.push((Ink::Alarm, "GONE  ".to_owned()));
    }
    if screen.listing.is_paused() {
        pieces.push((Ink::Second, "PAUSED  ".to_owned()));
    }
    if screen.source.ended.is_some() {
        pieces.push((Ink::Second, "ENDED  ".to_owned()));
    }
    // Before the counts, for what is cut off at the right is not missed.
    if screen.page == ScreenPage::List && screen.listing.is_sorted() {
        let direction = if screen.listing.descends { "down" } else { "up" };
        let sort = screen.listing.sort.title();
        pieces.push((Ink::Second, format!("by {sort} {direction}  ")));
    }
    if screen.listing.only_marked() {
        pieces.push((Ink::Second, "only marked  ".to_owned()));
    }
    if let Some(filter) = screen.listing.filter() {
        let filter = cut(filter.as_str(), FILTER_COLUMNS, style);
        pieces.push((Ink::Second, format!("filter: {filter}  ")));
    }
    pieces.push((Ink::Plain, text));
    pieces.push((plain(screen.source.dropped), dropped));
    pieces.push((plain(over_limit), over));
    let pieces: Vec<(Ink, &str)> = pieces.iter().map(|(ink, text)| (*ink, &**text)).collect();
    pane.line(1, &pieces);
}

/// What is being entered, else a message, else how the source is.
fn bottom(screen: &FullScreen, pane: &mut Pane<'_>) {
    let Some(row) = pane.rows().checked_sub(1) else { return };
    match &screen.dialog.prompt {
        Some(Prompt::Filter(line)) => {
            line.draw(pane, row, "/");
            if let (Some((ink, error)), Some(above)) = (&screen.dialog.message, row.checked_sub(1))
            {
                let error: Vec<&str> = error.lines().collect();
                pane.text((above, 0), Ink::Plain, &" ".repeat(pane.columns()));
                pane.text((above, 0), *ink, &error.join(" "));
            }
        }
        Some(Prompt::Address(line)) => {
            line.draw(pane, row, "replay to HOST:PORT: ");
            if let (Some((ink, error)), Some(above)) = (&screen.dialog.message, row.checked_sub(1))
            {
                pane.text((above, 0), Ink::Plain, &" ".repeat(pane.columns()));
                pane.text((above, 0), *ink, error);
            }
        }
        Some(Prompt::Confirm(request)) => {
            let text = format!("send {} to {}, without a body? y", request.method, request.address);
            pane.text((row, 0), Ink::Alarm, &text);
        }
        None => {
            let ended =
                screen.source.ended.as_ref().map(|how| (Ink::Second, format!("{how}; q quits")));
            let gone = (screen.source.is_gone && ended.is_none())
                .then(|| (Ink::Alarm, "the server has gone; it is asked again".to_owned()));
            let unused = screen.source.counts.to_string();
            let unused = (!unused.is_empty()).then_some((Ink::Faint, unused));
            if let Some((ink, text)) =
                screen.dialog.message.as_ref().or(ended.or(gone).as_ref()).or(unused.as_ref())
            {
                pane.text((row, 0), *ink, text);
            }
        }
    }
}

fn keys(pane: &mut Pane<'_>) {
    let width = KEYS.iter().map(|(key, _)| width_of(key)).max().unwrap_or(0);
    for (row, (key, what)) in KEYS.into_iter().enumerate() {
        let key = padded(key, width, false);
        pane.line(row, &[(Ink::Bold, &key), (Ink::Plain, "  "), (Ink::Plain, what)]);
    }
}
