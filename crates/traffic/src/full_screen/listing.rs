//! Keeps the newest exchanges, and which of them are listed in which order.
//!
//! Bound: [`KEPT_MAX`] exchanges; the oldest goes, with its mark. As many more wait while the list
//! is paused; then, too, the oldest goes.
//! Invariants: numbers count arrivals, and never change. What is listed satisfies the filter. Of
//! two exchanges that sort alike the older one comes first.
//! [`Listing::refresh`] sorts anew, so that not each arrival does.

use std::collections::{BTreeSet, VecDeque};

use exchange::Filter;
use screen::Scroll;

use crate::owned::OwnedExchange;

pub(crate) const KEPT_MAX: usize = 10_000;

/// What the list is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Column {
    #[default]
    Time,
    Client,
    Method,
    Path,
    Status,
    Cache,
    Decision,
    Milliseconds,
    Bytes,
}

impl Column {
    pub(super) const ALL: [Self; 9] = [
        Self::Time,
        Self::Client,
        Self::Method,
        Self::Path,
        Self::Status,
        Self::Cache,
        Self::Decision,
        Self::Milliseconds,
        Self::Bytes,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Client => "client",
            Self::Method => "method",
            Self::Path => "path",
            Self::Status => "status",
            Self::Cache => "cache",
            Self::Decision => "decision",
            Self::Milliseconds => "ms",
            Self::Bytes => "bytes",
        }
    }

    /// Numbers are sorted the largest first.
    pub(super) fn begins_descending(self) -> bool {
        matches!(self, Self::Milliseconds | Self::Bytes)
    }
}

/// The list.
pub(super) struct Listing {
    kept: VecDeque<OwnedExchange>,
    /// The number of the oldest.
    first: u64,
    /// What has come since the pause.
    waiting: Option<VecDeque<OwnedExchange>>,
    filter: Option<Filter>,
    marks: BTreeSet<u64>,
    only_marked: bool,
    /// The numbers of what is listed, by arrival.
    listed: VecDeque<u64>,
    pub(super) sort: Column,
    pub(super) descends: bool,
    /// The same, sorted, where the order is not that of arrival.
    sorted: Vec<u64>,
    is_stale: bool,
    pub(super) scroll: Scroll,
}

impl Default for Listing {
    fn default() -> Self {
        Self {
            kept: VecDeque::new(),
            first: 0,
            waiting: None,
            filter: None,
            marks: BTreeSet::new(),
            only_marked: false,
            listed: VecDeque::new(),
            sort: Column::Time,
            descends: false,
            sorted: Vec::new(),
            is_stale: false,
            scroll: Scroll::following(),
        }
    }
}

impl Listing {
    /// Adds an exchange: to the list, or to what waits for the end of a pause.
    pub(super) fn push(&mut self, exchange: OwnedExchange) {
        if let Some(waiting) = &mut self.waiting {
            if waiting.len() == KEPT_MAX {
                waiting.pop_front();
            }
            waiting.push_back(exchange);
            return;
        }
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
            self.marks.remove(&self.first);
            if self.listed.front() == Some(&self.first) {
                self.listed.pop_front();
                self.scroll.shift(1);
            }
            self.first += 1;
        }
        let number = self.first + self.kept.len() as u64;
        if self.selects(&exchange) && !self.only_marked {
            self.listed.push_back(number);
        }
        self.kept.push_back(exchange);
        self.is_stale = true;
    }

    pub(super) fn is_paused(&self) -> bool {
        self.waiting.is_some()
    }

    pub(super) fn pause(&mut self) {
        match self.waiting.take() {
            None => self.waiting = Some(VecDeque::new()),
            Some(waiting) => waiting.into_iter().for_each(|exchange| self.push(exchange)),
        }
        self.refresh();
    }

    pub(super) fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    pub(super) fn selects(&self, exchange: &OwnedExchange) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(&exchange.view()))
    }

    pub(super) fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
        self.list_anew();
    }

    /// All that are kept, and all that wait.
    pub(super) fn kept(&self) -> impl Iterator<Item = &OwnedExchange> {
        self.kept.iter().chain(self.waiting.iter().flatten())
    }

    pub(super) fn count(&self) -> usize {
        if self.is_sorted() { self.sorted.len() } else { self.listed.len() }
    }

    /// The exchange of a row, with its number.
    pub(super) fn row(&self, row: usize) -> Option<(u64, &OwnedExchange)> {
        let number =
            if self.is_sorted() { self.sorted.get(row) } else { self.listed.get(row) }.copied()?;
        Some((number, self.get(number)?))
    }

    pub(super) fn selected(&self) -> Option<(u64, &OwnedExchange)> {
        self.row(self.scroll.selected(self.count())?)
    }

    /// The number of the exchange with a request id, whether it is listed or not.
    pub(super) fn number_of(&self, id: u128) -> Option<u64> {
        let has_id = |one: &OwnedExchange| one.line().is_some_and(|line| line.id == id);
        (self.first..).zip(&self.kept).find(|(_, one)| has_id(one)).map(|(number, _)| number)
    }

    /// How many that are kept waited for the fetch of the exchange with this id.
    pub(super) fn waiters(&self, id: u128) -> usize {
        let waited = |one: &&OwnedExchange| {
            id != 0 && one.line().is_some_and(|line| line.fetched_by == Some(id))
        };
        self.kept.iter().filter(waited).count()
    }

    pub(super) fn is_marked(&self, number: u64) -> bool {
        self.marks.contains(&number)
    }

    pub(super) fn only_marked(&self) -> bool {
        self.only_marked
    }

    /// Marks an exchange, or takes its mark away.
    pub(super) fn mark(&mut self, number: u64) {
        if self.get(number).is_some() && !self.marks.remove(&number) {
            self.marks.insert(number);
        }
        if self.only_marked {
            self.list_anew();
        }
    }

    /// Lists only what is marked, or all again.
    pub(super) fn toggle_only_marked(&mut self) {
        self.only_marked = !self.only_marked;
        self.list_anew();
    }

    /// Selects the next marked row, from the beginning again after the last.
    pub(super) fn next_marked(&mut self) -> bool {
        let count = self.count();
        let now = self.scroll.selected(count).unwrap_or(0);
        let rows = (now + 1..count).chain(0..=now.min(count.saturating_sub(1)));
        let is_marked = |row: &usize| self.row(*row).is_some_and(|(it, _)| self.is_marked(it));
        let found = rows.into_iter().find(is_marked);
        if let Some(row) = found {
            self.scroll.select(row);
        }
        found.is_some()
    }

    /// Follows arrivals, in their order, or stays.
    pub(super) fn follow(&mut self) {
        if self.scroll.follows {
            let row = self.scroll.selected(self.count()).unwrap_or(0);
            return self.scroll.select(row);
        }
        (self.sort, self.descends) = (Column::Time, false);
        self.scroll.follows = true;
    }

    /// Sorts by another column, or the other way round; ends following.
    pub(super) fn sort_by(&mut self, sort: Column, descends: bool) {
        let number = self.selected().map(|(number, _)| number);
        (self.sort, self.descends) = (sort, descends);
        self.is_stale = true;
        self.sort_anew();
        self.select_number(number);
    }

    /// Sorts what has come since; the selected exchange stays selected.
    pub(super) fn refresh(&mut self) {
        if !self.is_stale || !self.is_sorted() || self.is_paused() {
            return;
        }
        let number = self.selected().map(|(number, _)| number);
        self.sort_anew();
        self.select_number(number);
    }

    pub(super) fn get(&self, number: u64) -> Option<&OwnedExchange> {
        self.kept.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// Whether the order is not that of arrival.
    pub(super) fn is_sorted(&self) -> bool {
        self.sort != Column::Time || self.descends
    }

    /// Selects the row of a number; the first where it is not listed.
    pub(super) fn select_number(&mut self, number: Option<u64>) {
        let Some(number) = number else { return };
        let row = if self.is_sorted() {
            self.sorted.iter().position(|one| *one == number)
        } else {
            self.listed.iter().position(|one| *one == number)
        };
        self.scroll.select(row.unwrap_or(0));
    }

    fn list_anew(&mut self) {
        let follows = self.scroll.follows;
        let number = self.selected().map(|(number, _)| number);
        let is_listed = |(number, exchange): &(u64, &OwnedExchange)| {
            self.selects(exchange) && (!self.only_marked || self.marks.contains(number))
        };
        let all = (self.first..).zip(&self.kept);
        self.listed = all.filter(is_listed).map(|(number, _)| number).collect();
        self.is_stale = true;
        self.sort_anew();
        self.select_number(number);
        self.scroll.follows = follows;
    }

    fn sort_anew(&mut self) {
        self.is_stale = false;
        self.sorted.clear();
        if !self.is_sorted() {
            return;
        }
        let mut sorted: Vec<u64> = self.listed.iter().copied().collect();
        let text = |number: &u64, of: fn(&OwnedExchange) -> Vec<u8>| self.get(*number).map(of);
        let numeric = |number: &u64| self.get(*number).and_then(|one| measure(one, self.sort));
        match self.sort {
            Column::Client => sorted.sort_by_cached_key(|it| text(it, |e| e.view().client.into())),
            Column::Method => sorted.sort_by_cached_key(|it| text(it, |e| e.view().method.into())),
            Column::Path => sorted.sort_by_cached_key(|it| text(it, |e| e.view().url.into())),
            Column::Cache => sorted.sort_by_key(|it| self.get(*it).map(|e| e.view().handling)),
            Column::Decision => sorted.sort_by_key(|it| self.get(*it).map(|e| e.view().decision)),
            Column::Time | Column::Status | Column::Milliseconds | Column::Bytes => {
                sorted.sort_by_key(numeric);
            }
        }
        if self.descends {
            sorted.reverse();
        }
        self.sorted = sorted;
    }
}

/// The number that a column has.
fn measure(exchange: &OwnedExchange, column: Column) -> Option<u64> {
    let view = exchange.view();
    match column {
        Column::Status => view.status.map(u64::from),
        Column::Milliseconds => view.times.total_us,
        Column::Bytes => view.bytes.bytes_out,
        _ => view.times.time_us,
    }
}
