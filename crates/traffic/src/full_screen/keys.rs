//! Says what each key does.
//!
//! A line that is being entered takes all keys but Enter, Esc and Ctrl-C. A paste goes only there:
//! no paste presses keys. `KEYS` is what `?` shows.
//! Invariant: nothing is sent anywhere before an address was entered. A method other than GET and
//! HEAD needs a `y` as well.

use exchange::Filter;
use screen::{EntryLine, Ink, Input, Key};

use super::curl::{self, ReplayRequest};
use super::dialog::Prompt;
use super::listing::Column;
use super::state::{Detail, FullScreen, ScreenAction, ScreenPage, TopColumn};
use crate::tally::Dimension;

pub(super) const KEYS: [(&str, &str); 19] = [
    ("Tab, 1 to 5", "list, detail, top, histogram, heat map"),
    ("arrows, PgUp, PgDn", "move; in detail, to the exchange before or after"),
    ("Home, End", "to the first, to the last"),
    ("Enter", "the exchange in detail, and back"),
    ("f", "follow what comes, or stay"),
    ("space", "pause the list; counts go on"),
    ("/", "filter, such as status >= 500 and total > 50ms"),
    ("s, S", "sort by the next column; the other way round"),
    ("left, right", "sort by the column before, after; in top: by route, status, …"),
    ("w", "to the exchange that it waited for; to those that waited for it"),
    ("m, n, M", "mark; to the next marked; only marked"),
    ("c", "copy as curl"),
    ("r", "replay to HOST:PORT"),
    ("x", "hide or show secrets, with --show-secrets"),
    ("Esc", "leave a line, or back to the list"),
    ("Ctrl-U", "empty a line up to the cursor"),
    ("?", "these keys"),
    ("q", "quit"),
    ("any key", "closes this"),
];

impl FullScreen {
    pub(super) fn input(&mut self, input: Input) -> Option<ScreenAction> {
        match input {
            Input::Resized(_, rows) => self.rows = rows.into(),
            Input::Paste(text) => {
                if let Some(Prompt::Filter(line) | Prompt::Address(line)) = &mut self.dialog.prompt
                {
                    line.paste(&text);
                }
            }
            Input::Key(Key::Interrupt) => return Some(ScreenAction::Quit),
            Input::Key(key) => {
                if self.dialog.uncover() {
                    return (key == Key::Char('q')).then_some(ScreenAction::Quit);
                }
                if let Some(prompt) = self.dialog.prompt.take() {
                    return self.entered(prompt, key);
                }
                self.dialog.message = None;
                return self.pressed(key);
            }
        }
        None
    }

    /// A key while a line is being entered.
    fn entered(&mut self, mut prompt: Prompt, key: Key) -> Option<ScreenAction> {
        match (&mut prompt, key) {
            (_, Key::Escape) => {
                self.dialog.message = None;
                return None;
            }
            (Prompt::Filter(line), Key::Enter) => {
                let text = line.text();
                match Some(text.trim()).filter(|text| !text.is_empty()).map(Filter::parse) {
                    Some(Err(error)) => self.dialog.message = Some((Ink::Alarm, error.to_string())),
                    filter => {
                        self.set_filter(filter.and_then(Result::ok));
                        self.dialog.message = None;
                        return None;
                    }
                }
            }
            (Prompt::Address(line), Key::Enter) => {
                let address = line.text();
                match self.replay(address.trim()) {
                    Err(error) => self.dialog.message = Some((Ink::Alarm, error)),
                    Ok(request) if request.is_safe() => return Some(self.sent(request)),
                    Ok(request) => prompt = Prompt::Confirm(request),
                }
            }
            (Prompt::Confirm(request), Key::Char('y')) => {
                let request = request.clone();
                return Some(self.sent(request));
            }
            (Prompt::Confirm(_), _) => return None,
            (Prompt::Filter(line), key) => {
                line.key(key);
                let text = line.text();
                let error = Some(text.trim()).filter(|text| !text.is_empty());
                let error = error.and_then(|text| Filter::parse(text).err());
                self.dialog.message = error.map(|error| (Ink::Second, error.to_string()));
            }
            (Prompt::Address(line), key) => line.key(key),
        }
        self.dialog.prompt = Some(prompt);
        None
    }

    fn replay(&self, address: &str) -> Result<ReplayRequest, String> {
        let (number, exchange) = self.current().ok_or("no exchange is selected")?;
        ReplayRequest::new((number, exchange), address, self.has_hidden_secrets())
    }

    fn sent(&mut self, request: ReplayRequest) -> ScreenAction {
        self.dialog.message = Some((Ink::Faint, format!("sent to {} …", request.address)));
        ScreenAction::Replay(request)
    }

    fn pressed(&mut self, key: Key) -> Option<ScreenAction> {
        match key {
            Key::Char('q') => return Some(ScreenAction::Quit),
            Key::Char('?') => self.dialog.shows_keys = true,
            Key::Char(' ') => self.listing.pause(),
            Key::Char('/') => {
                let text = self.listing.filter().map(Filter::as_str).unwrap_or_default();
                self.dialog.prompt = Some(Prompt::Filter(EntryLine::new(text)));
            }
            Key::Char(digit @ '1'..='5') => self.turn(digit as usize - '1' as usize),
            Key::Tab => self.turn(self.page as usize + 1),
            Key::BackTab => self.turn(self.page as usize + ScreenPage::ALL.len() - 1),
            Key::Escape => self.turn(ScreenPage::List as usize),
            Key::Char('x') if self.options.has_secrets => self.hides_secrets = !self.hides_secrets,
            _ => {
                return match self.page {
                    ScreenPage::List | ScreenPage::Detail => self.of_exchange(key),
                    ScreenPage::Top => self.in_top(key),
                    ScreenPage::Histogram => {
                        let count = self.route_count();
                        self.routes.key(key, count, self.list_rows() / 3);
                        None
                    }
                    ScreenPage::HeatMap => None,
                };
            }
        }
        None
    }

    fn route_count(&self) -> usize {
        // The first row is all of them.
        self.counted().table(Dimension::Route).rows().len() + 1
    }

    fn turn(&mut self, page: usize) {
        self.page = ScreenPage::ALL[page % ScreenPage::ALL.len()];
        if self.page == ScreenPage::Detail {
            self.show_selected();
        }
    }

    /// Takes the selected exchange into the view of details.
    fn show_selected(&mut self) {
        let selected = self.listing.selected();
        self.detail = selected.map(|(number, exchange)| Detail {
            number,
            exchange: exchange.clone(),
            first: 0,
        });
    }

    /// Shows one in detail that the filter may leave out.
    fn show_number(&mut self, number: u64) {
        let Some(exchange) = self.listing.get(number).cloned() else { return };
        self.listing.select_number(Some(number));
        self.page = ScreenPage::Detail;
        self.detail = Some(Detail { number, exchange, first: 0 });
    }

    /// A key about the exchanges, in the list and in detail.
    fn of_exchange(&mut self, key: Key) -> Option<ScreenAction> {
        match key {
            Key::Enter if self.page == ScreenPage::List => {
                let row = self.listing.scroll.selected(self.listing.count());
                row.into_iter().for_each(|row| self.listing.scroll.select(row));
                self.turn(ScreenPage::Detail as usize);
            }
            Key::Enter => self.turn(ScreenPage::List as usize),
            Key::Char('f') => self.listing.follow(),
            Key::Char('s') | Key::Right if key != Key::Right || self.page == ScreenPage::List => {
                self.sort_by_neighbour(1);
            }
            Key::Left if self.page == ScreenPage::List => {
                self.sort_by_neighbour(Column::ALL.len() - 1);
            }
            Key::Char('w') => self.show_flight(),
            Key::Char('S') => self.listing.sort_by(self.listing.sort, !self.listing.descends),
            Key::Char('m') => {
                let number = self.current().map(|(number, _)| number);
                number.into_iter().for_each(|number| self.listing.mark(number));
            }
            Key::Char('n') => {
                if !self.listing.next_marked() {
                    self.dialog.message = Some((Ink::Faint, "nothing is marked".to_owned()));
                } else if self.page == ScreenPage::Detail {
                    self.show_selected();
                }
            }
            Key::Char('M') => self.listing.toggle_only_marked(),
            Key::Char('c') => return self.copy(),
            // Tried with any address, so that nobody enters one in vain.
            Key::Char('r') => match self.replay("127.0.0.1:80") {
                Ok(_) => self.dialog.prompt = Some(Prompt::Address(EntryLine::default())),
                Err(error) => self.dialog.message = Some((Ink::Alarm, error)),
            },
            key => self.moved(key),
        }
        None
    }

    fn sort_by_neighbour(&mut self, steps: usize) {
        let at = Column::ALL.iter().position(|one| *one == self.listing.sort);
        let next = Column::ALL[(at.unwrap_or(0) + steps) % Column::ALL.len()];
        self.listing.sort_by(next, next.begins_descending());
    }

    /// Goes from a waiter to its leader, or lists those that waited for it.
    fn show_flight(&mut self) {
        let ids =
            self.current().and_then(|(_, one)| Some((one.line()?.id, one.line()?.fetched_by)));
        let message = match ids {
            Some((_, Some(leader))) => match self.listing.number_of(leader) {
                Some(number) => return self.show_number(number),
                None => format!("{leader:032x} is no longer kept"),
            },
            Some((id, None)) if self.listing.waiters(id) > 0 => {
                self.set_filter(Filter::parse(&format!("fetched_by == \"{id:032x}\"")).ok());
                return self.turn(ScreenPage::List as usize);
            }
            _ => "no exchange in the list waited for it".to_owned(),
        };
        self.dialog.message = Some((Ink::Faint, message));
    }

    fn moved(&mut self, key: Key) {
        let (count, rows) = (self.listing.count(), self.list_rows());
        match (self.page, &mut self.detail, key) {
            (ScreenPage::Detail, Some(detail), Key::PageUp) => {
                detail.first = detail.first.saturating_sub(rows);
            }
            (ScreenPage::Detail, Some(detail), Key::PageDown) => detail.first += rows,
            (ScreenPage::Detail, Some(detail), Key::Home) => detail.first = 0,
            (ScreenPage::Detail, ..) => {
                if self.listing.scroll.key(key, count, rows) {
                    self.show_selected();
                }
            }
            _ => {
                self.listing.scroll.key(key, count, rows);
            }
        }
    }

    fn copy(&mut self) -> Option<ScreenAction> {
        let (_, exchange) = self.current()?;
        match curl::command(exchange, self.has_hidden_secrets()) {
            Ok(text) => {
                let left_out = curl::left_out(exchange, self.has_hidden_secrets());
                let without = match left_out.as_slice() {
                    [] => String::new(),
                    names => format!(", without {}", names.join(" and ")),
                };
                self.dialog.notice = Some(text.clone());
                let copied = format!("it was given to the clipboard{without}");
                self.dialog.message = Some((Ink::Faint, copied));
                Some(ScreenAction::Copy(text))
            }
            Err(error) => {
                self.dialog.message = Some((Ink::Alarm, error));
                None
            }
        }
    }

    fn in_top(&mut self, key: Key) -> Option<ScreenAction> {
        let count = Dimension::ALL.len();
        let at = self.top.dimension as usize;
        match key {
            Key::Right => self.top.dimension = Dimension::ALL[(at + 1) % count],
            Key::Left => self.top.dimension = Dimension::ALL[(at + count - 1) % count],
            Key::Char('s') => {
                let at = TopColumn::ALL.iter().position(|one| *one == self.top.sort);
                self.top.sort = TopColumn::ALL[(at.unwrap_or(0) + 1) % TopColumn::ALL.len()];
                self.top.ascends = self.top.sort == TopColumn::Key;
            }
            Key::Char('S') => self.top.ascends = !self.top.ascends,
            key => {
                let rows = self.counted().table(self.top.dimension).rows().len();
                let height = self.list_rows().saturating_sub(1).max(1);
                self.top.scroll.key(key, rows, height);
            }
        }
        None
    }
}
