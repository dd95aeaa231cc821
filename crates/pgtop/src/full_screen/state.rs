//! What the screen shows, and what it asks to be read.

use screen::Scroll;

use super::dialog::TopDialog;
use super::event::{SeekStep, TopAction};
use super::tab::ServerTab;
use super::waits::WaitsPlace;
use crate::catalog;
use crate::filter::SessionFilter;
use crate::frame::{PgFrame, PgSession};
use crate::history::{WaitShare, WaitWindow};
use crate::listing::{ListOrder, ViewList};
use crate::sample::FrameRequest;
use crate::signal::Victim;
use crate::view::{PgView, ViewedFrames};

/// Bytes of a query that are read for the screen.
const TEXT_BYTES: i32 = 1000;
/// Rows beside the list: pages, messages, titles.
pub(super) const FRAME_ROWS: usize = 3;
/// Columns of the scale at the left of a chart.
pub(super) const SCALE_COLUMNS: usize = 6;

/// How a screen begins.
#[derive(Debug, Clone)]
pub struct TopOptions {
    /// The servers' names; of a recording its file, for frames that name no server.
    pub names: Vec<String>,
    /// The view.
    pub view: PgView,
    /// Its order.
    pub order: ListOrder,
    /// Which sessions are shown.
    pub filter: SessionFilter,
    /// Whether the header is shown.
    pub has_header: bool,
    /// Seconds between frames.
    pub delay_s: f64,
    /// Seconds from which a query is slow.
    pub slow_threshold_s: f64,
    /// Whether everything is read, for a recording that is written.
    pub records: bool,
    /// Whether a recording is shown.
    pub is_replay: bool,
    /// What `D` shows, without a password.
    pub settings: String,
    /// Why signals are recorded nowhere, if so; it is said before the first one.
    pub unrecorded: Option<String>,
    /// Columns and rows of the terminal.
    pub size: (usize, usize),
    /// Says the time of day, `HH:MM:SS`, of microseconds since 1970.
    pub time_of_day: fn(i64) -> String,
}

/// The screen.
pub struct TopScreen {
    pub(super) options: TopOptions,
    pub(super) tabs: Vec<ServerTab>,
    pub(super) tab: usize,
    pub(super) scroll: Scroll,
    pub(super) dialog: TopDialog,
    pub(super) waits: WaitsPlace,
    pub(super) is_paused: bool,
    /// The time by this machine's clock.
    pub(super) now_us: i64,
    /// The frame of a recording that is shown, and how many there are.
    pub(super) place: Option<(usize, usize)>,
}

impl TopScreen {
    /// A screen without frames yet.
    pub fn new(options: TopOptions) -> Self {
        let tab = |name: &String| ServerTab::new(name.clone(), options.is_replay);
        // A recording says by itself which servers it has.
        let servers = options.names.iter().filter(|_| !options.is_replay);
        let tabs = servers.map(tab).collect();
        Self {
            options,
            tabs,
            tab: 0,
            scroll: Scroll::default(),
            dialog: TopDialog::default(),
            waits: WaitsPlace::default(),
            is_paused: false,
            now_us: 0,
            place: None,
        }
    }

    /// Returns what is to be read of a server.
    pub fn request(&self, tab: usize) -> FrameRequest {
        let view = self.options.view;
        let is_shown = tab == self.tab;
        let views = match self.options.records {
            true => catalog::ALL.iter().map(|view| view.name.to_owned()).collect(),
            false => {
                let wanted = is_shown && view.is_catalog();
                wanted.then(|| view.name().to_owned()).into_iter().collect()
            }
        };
        let locks = self.options.records || (is_shown && view.needs_locks());
        FrameRequest { locks, views, text_bytes: TEXT_BYTES }
    }

    /// Takes a frame of a recording into the history of its server, without showing it.
    pub fn remember(&mut self, frame: &PgFrame) {
        let name = match frame.server.name.as_str() {
            "" => self.options.names[0].clone(),
            name => name.to_owned(),
        };
        let at = self.tabs.iter().position(|tab| tab.name == name).unwrap_or_else(|| {
            self.tabs.push(ServerTab::new(name, true));
            self.tabs.len() - 1
        });
        self.tabs[at].history.push(frame);
    }

    /// Returns which server is shown.
    pub fn tab(&self) -> usize {
        self.tab
    }

    /// Returns the view.
    pub fn view(&self) -> PgView {
        self.options.view
    }

    /// Keeps the selected session selected, wherever its row is afterwards.
    pub(super) fn keeping_selection(&mut self, change: impl FnOnce(&mut Self)) {
        let pid = self.selected().map(|session| session.identity.pid);
        change(self);
        let Some(pid) = pid else { return };
        let list = self.list();
        let at = list.rows.iter().position(|row| row.session.is_some_and(|it| it.pid == pid));
        if let Some(at) = at {
            self.scroll.select(at);
        }
    }

    /// The list that is shown.
    pub(super) fn list(&self) -> ViewList {
        let (tab, view) = (self.current(), self.options.view);
        let Some(frame) = tab.shown() else { return ViewList::default() };
        let slow_threshold_s = self.options.slow_threshold_s;
        let frames = ViewedFrames { frame, before: tab.before(view), slow_threshold_s };
        view.listing(&frames, &self.options.filter, self.options.order)
    }

    pub(super) fn current(&self) -> &ServerTab {
        &self.tabs[self.tab]
    }

    /// The selected session, as it is shown.
    pub(super) fn selected(&self) -> Option<&PgSession> {
        let list = self.list();
        let row = list.rows.get(self.scroll.selected(list.rows.len())?)?;
        let identity = row.session?;
        let frame = self.current().shown()?;
        frame.sessions.iter().find(|session| session.identity == identity)
    }

    pub(super) fn victim(&self) -> Option<Victim> {
        let now = self.current().shown()?.time_us;
        self.selected().map(|session| Victim::of(session, now))
    }

    /// Rows that the list has.
    pub(super) fn list_rows(&self) -> usize {
        let header = if self.options.has_header { 4 + self.rights().iter().len() } else { 0 };
        self.options.size.1.saturating_sub(FRAME_ROWS + header)
    }

    /// Which keys the role lacks rights for, with the GRANT, if any.
    pub(super) fn rights(&self) -> Option<&str> {
        let shown = self.current().shown().filter(|_| !self.options.is_replay)?;
        Some(shown.server.rights.as_str()).filter(|rights| !rights.is_empty())
    }

    pub(super) fn turn(&mut self, view: PgView) -> Option<TopAction> {
        self.options.view = view;
        self.options.order = view.order();
        self.scroll = Scroll::default();
        self.changed()
    }

    /// Another view, server or reading is wanted.
    pub(super) fn changed(&self) -> Option<TopAction> {
        match self.options.is_replay {
            true => Some(TopAction::Seek(SeekStep::Again)),
            false => Some(TopAction::Watch),
        }
    }

    /// The shares of what is looked at.
    pub(super) fn wait_shares(&self) -> Vec<WaitShare> {
        let Some(window) = self.wait_window(self.bars()) else { return Vec::new() };
        let span = self.waits.span(window);
        self.current().history.shares(span, &self.waits.path)
    }

    pub(super) fn wait_window(&self, bars: usize) -> Option<WaitWindow> {
        let shown = self.current().shown()?;
        let newest = self.current().history.span_us().map(|(_, newest)| newest);
        // The chart ends at what is shown.
        let now = newest.filter(|_| !self.is_still()).unwrap_or(shown.time_us);
        Some(self.waits.window(now, bars))
    }

    /// Whether what is shown stays: paused, or in a recording.
    pub(super) fn is_still(&self) -> bool {
        self.is_paused || self.options.is_replay
    }

    /// The time of day of a moment of a server.
    pub(super) fn time_of_day(&self, time_us: i64) -> String {
        (self.options.time_of_day)(time_us)
    }

    fn bars(&self) -> usize {
        self.options.size.0.saturating_sub(SCALE_COLUMNS)
    }
}
