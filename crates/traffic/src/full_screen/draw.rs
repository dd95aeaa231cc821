//! Draws the state: two rows at the top, the view, and a row at the bottom.
//!
//! Invariant: drawing changes nothing, and any size will do: what does not fit is left out.
//! Columns of a list that do not fit go one after the other, the least telling first.
//! Never here: which keys do what (`keys.rs`).

mod charts;
mod detail;
mod list;
mod top;

use exchange::write_rfc3339;
use screen::{Ink, Pane, cut, number, padded, width_of, wrapped};

use super::keys::KEYS;
use super::{FullScreen, Prompt, ScreenPage};

/// Rows around the view.
pub(super) const FRAME_ROWS: usize = 3;
/// The longest name of a source.
const SOURCE_COLUMNS: usize = 32;

impl FullScreen {
    /// Draws everything.
    pub fn draw(&self, pane: &mut Pane<'_>) {
        self.pages(pane);
        self.status(pane);
        let rows = pane.rows().saturating_sub(FRAME_ROWS);
        let mut view = pane.part(2, rows);
        if self.shows_keys {
            keys(&mut view);
        } else if let Some(notice) = &self.notice {
            for (row, line) in wrapped(notice, 0, view.style()).iter().enumerate() {
                view.text((row, 0), Ink::Plain, line);
            }
        } else {
            match self.page {
                ScreenPage::List => self.list(&mut view),
                ScreenPage::Detail => self.details(&mut view),
                ScreenPage::Top => self.top(&mut view),
                ScreenPage::Histogram => self.histogram(&mut view),
                ScreenPage::HeatMap => self.heat_map(&mut view),
            }
        }
        self.bottom(pane);
    }

    fn pages(&self, pane: &mut Pane<'_>) {
        let mut column = 0;
        for (at, page) in ScreenPage::ALL.into_iter().enumerate() {
            let ink = if page == self.page { Ink::Bold } else { Ink::Faint };
            let (left, right) = if page == self.page { ('[', ']') } else { (' ', ' ') };
            let text = format!("{left}{} {}{right}", at + 1, page.name());
            column = pane.text((0, column), ink, &text);
        }
        pane.text((0, column), Ink::Faint, "  ? keys  q quit");
    }

    fn status(&self, pane: &mut Pane<'_>) {
        let style = pane.style();
        let source = cut(&self.options.source, SOURCE_COLUMNS, style);
        let counted = number::count;
        let over_limit = self.counts.over_limit
            + self.counts.timed_out
            + self.counts.beyond
            + self.counts.over_rate;
        let seen = self.tally.exchanges() + self.dropped;
        let shown = self.listing.count() as u64;
        let exchanges = number::of(seen, "exchange", "exchanges");
        let text = format!("{exchanges}  {} shown", counted(shown));
        let dropped = format!("  {} dropped", counted(self.dropped));
        let over = format!("  {} over limit  {}/s", counted(over_limit), self.rate().round());
        let plain = |number: u64| if number > 0 { Ink::Alarm } else { Ink::Plain };
        let mut pieces = vec![(Ink::Bold, source), (Ink::Plain, "  ".to_owned())];
        if self.listing.is_paused() {
            pieces.push((Ink::Second, "PAUSED  ".to_owned()));
        }
        if self.ended.is_some() {
            pieces.push((Ink::Second, "ENDED  ".to_owned()));
        }
        pieces.push((Ink::Plain, text));
        pieces.push((plain(self.dropped), dropped));
        pieces.push((plain(over_limit), over));
        if self.listing.only_marked() {
            pieces.push((Ink::Second, "  only marked".to_owned()));
        }
        if let Some(filter) = self.listing.filter() {
            pieces.push((Ink::Second, format!("  filter: {}", filter.as_str())));
        }
        let pieces: Vec<(Ink, &str)> = pieces.iter().map(|(ink, text)| (*ink, &**text)).collect();
        pane.line(1, &pieces);
    }

    /// What is being entered, else a message, else how the source is.
    fn bottom(&self, pane: &mut Pane<'_>) {
        let Some(row) = pane.rows().checked_sub(1) else { return };
        match &self.prompt {
            Some(Prompt::Filter(line)) => {
                line.draw(pane, row, "/");
                if let (Some((ink, error)), Some(above)) = (&self.message, row.checked_sub(1)) {
                    let error: Vec<&str> = error.lines().collect();
                    pane.text((above, 0), Ink::Plain, &" ".repeat(pane.columns()));
                    pane.text((above, 0), *ink, &error.join(" "));
                }
            }
            Some(Prompt::Address(line)) => {
                line.draw(pane, row, "replay to HOST:PORT: ");
                if let (Some((ink, error)), Some(above)) = (&self.message, row.checked_sub(1)) {
                    pane.text((above, 0), Ink::Plain, &" ".repeat(pane.columns()));
                    pane.text((above, 0), *ink, error);
                }
            }
            Some(Prompt::Confirm(request)) => {
                let text =
                    format!("send {} to {}, without a body? y", request.method, request.address);
                pane.text((row, 0), Ink::Alarm, &text);
            }
            None => {
                let ended = self.ended.as_ref().map(|how| (Ink::Second, format!("{how}; q quits")));
                let unused = self.counts.to_string();
                let unused = (!unused.is_empty()).then_some((Ink::Faint, unused));
                if let Some((ink, text)) =
                    self.message.as_ref().or(ended.as_ref()).or(unused.as_ref())
                {
                    pane.text((row, 0), *ink, text);
                }
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

/// `1.234`
pub(super) fn milliseconds(us: u64) -> String {
    format!("{}.{:03}", us / 1000, us % 1000)
}

/// The time of day with milliseconds.
fn time_of_day(time_us: u64) -> String {
    let mut text = Vec::new();
    write_rfc3339(time_us, &mut text);
    let text = String::from_utf8_lossy(&text);
    let time = text.split_once('T').map_or(&*text, |(_, time)| time);
    time.chars().take("00:00:00.000".len()).collect()
}

/// A latency in milliseconds, or `-`.
fn latency(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), number::time)
}

/// Bytes as `999`, `1.2k`, `34M`.
fn bytes(count: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut size = count as f64;
    let mut unit = 0;
    while size >= 999.5 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    let places = usize::from(unit > 0 && size < 9.95);
    format!("{size:.places$}{}", UNITS[unit])
}
