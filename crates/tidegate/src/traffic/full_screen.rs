//! Runs the full-screen view: one thread reads the source, this one draws and takes keys.
//!
//! The state is that of the crate `traffic` (`FullScreen`); here are its threads, its terminal, its
//! clock, and what its actions do.
//! Invariants: a source that goes on is never slowed down: what the queue has no room for is
//! dropped, and counted. A file waits instead, also a followed one, so that all of it is seen. The
//! terminal is given back however this ends. When the source ends or breaks, what was seen stays
//! until `q`.
//! Bounds: `QUEUE_MAX` exchanges wait; one replay is under way at a time.
//! Never here: what is drawn, and what keys mean.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TryRecvError, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ::traffic::{
    ExchangeTally, FullScreen, OwnedExchange, ReplayRequest, Replayed, ScreenAction, ScreenEvent,
    ScreenOptions, WatchCounts, WatchError, WatchOptions, Watched, watch_exchanges,
};
use anyhow::{Context, Result, anyhow};
use screen::{Style, Terminal};

use super::replay;
use super::running_server::ServerProgress;

/// Exchanges between the two threads.
const QUEUE_MAX: usize = 8192;
/// How long exchanges are taken before the screen is drawn.
const TAKE_TIME: Duration = Duration::from_millis(40);
/// How long a key is waited for before the screen is drawn.
const KEY_TIME: Duration = Duration::from_millis(60);
/// How long the end of the reading thread is waited for.
const END_TIME: Duration = Duration::from_secs(1);

/// What is watched.
pub(super) struct Watching {
    pub(super) source: Box<dyn Read + Send>,
    /// As it is shown.
    pub(super) name: String,
    /// Whether it must not be kept waiting, as a pipe or a running server.
    pub(super) goes_on: bool,
    pub(super) options: WatchOptions,
    pub(super) server: Arc<ServerProgress>,
}

/// How a watch has ended.
pub(super) struct Seen {
    pub(super) tally: ExchangeTally,
    pub(super) counts: WatchCounts,
    pub(super) dropped: u64,
    /// Nothing if the user left before the end.
    pub(super) watched: Option<Result<Watched, WatchError>>,
}

/// What the reading thread says of itself.
#[derive(Default)]
struct ReadProgress {
    counts: Mutex<WatchCounts>,
    dropped: AtomicU64,
}

impl ReadProgress {
    fn counts(&self) -> WatchCounts {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows the view until the user leaves, or `stop` says so.
///
/// # Errors
/// When there is no terminal, or it fails.
pub(super) fn run(watching: Watching, style: Style, stop: &Arc<AtomicBool>) -> Result<Seen> {
    let has_secrets = watching.options.output.shows_secrets;
    let options = ScreenOptions { source: watching.name.clone(), has_secrets };
    let mut terminal = Terminal::take().context("take the terminal for `--screen`")?;
    let (_, rows) = terminal.size().context("ask the terminal for its size")?;
    let mut running = ScreenThreads::start(watching, FullScreen::new(options, rows), stop)?;
    let outcome = running.run(&mut terminal, style, stop);
    drop(terminal);
    // Ends the thread, unless its source waits and cannot be interrupted.
    stop.store(true, Ordering::Relaxed);
    let seen = running.end()?;
    outcome.map(|()| seen)
}

struct ScreenThreads {
    state: FullScreen,
    queue: Option<Receiver<Box<OwnedExchange>>>,
    progress: Arc<ReadProgress>,
    server: Arc<ServerProgress>,
    reader: Option<JoinHandle<Result<Watched, WatchError>>>,
    watched: Option<Result<Watched, WatchError>>,
    answers: (Sender<Replayed>, Receiver<Replayed>),
    is_replaying: bool,
}

impl ScreenThreads {
    fn start(watching: Watching, state: FullScreen, stop: &Arc<AtomicBool>) -> Result<Self> {
        let (sender, queue) = mpsc::sync_channel(QUEUE_MAX);
        let progress = Arc::new(ReadProgress::default());
        let (shared, stop) = (Arc::clone(&progress), Arc::clone(stop));
        let server = Arc::clone(&watching.server);
        let reader = thread::Builder::new().name("traffic".to_owned());
        let reader = reader.spawn(move || read(watching, &sender, &shared, &stop));
        Ok(Self {
            state,
            queue: Some(queue),
            progress,
            server,
            reader: Some(reader.context("start a thread")?),
            watched: None,
            answers: mpsc::channel(),
            is_replaying: false,
        })
    }

    fn run(&mut self, terminal: &mut Terminal, style: Style, stop: &AtomicBool) -> Result<()> {
        let began = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let has_more = self.take()?;
            while let Ok(replayed) = self.answers.1.try_recv() {
                self.is_replaying = false;
                self.state.apply(ScreenEvent::Answered(replayed));
            }
            let dropped = self.progress.dropped.load(Ordering::Relaxed)
                + self.server.dropped.load(Ordering::Relaxed);
            let is_gone = self.server.is_gone.load(Ordering::Relaxed);
            self.state.apply(ScreenEvent::ServerGone(is_gone));
            self.state.apply(ScreenEvent::Counts(Box::new(self.progress.counts()), dropped));
            self.state.apply(ScreenEvent::Tick(began.elapsed()));
            terminal.draw(style, |pane| self.state.draw(pane)).context("draw")?;
            let mut timeout = if has_more { Duration::ZERO } else { KEY_TIME };
            while let Some(input) = terminal.input(timeout).context("read keys")? {
                timeout = Duration::ZERO;
                match self.state.apply(ScreenEvent::Input(input)) {
                    Some(ScreenAction::Quit) => return Ok(()),
                    Some(ScreenAction::Copy(text)) => {
                        // The text is on the screen as well, for terminals that refuse it.
                        terminal.copy(&text).context("copy")?;
                    }
                    Some(ScreenAction::Replay(request)) => self.replay(request),
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Takes what has come, and returns whether more waits.
    fn take(&mut self) -> Result<bool> {
        let began = Instant::now();
        let Some(queue) = &self.queue else { return Ok(false) };
        while began.elapsed() < TAKE_TIME {
            match queue.try_recv() {
                Ok(exchange) => {
                    self.state.apply(ScreenEvent::Exchange(exchange));
                }
                Err(TryRecvError::Empty) => return Ok(false),
                Err(TryRecvError::Disconnected) => {
                    self.queue = None;
                    self.join()?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Takes over how the reading thread has ended.
    fn join(&mut self) -> Result<()> {
        let Some(reader) = self.reader.take() else { return Ok(()) };
        let watched = reader.join().map_err(|_| anyhow!("reading the source panicked"))?;
        let how = match &watched {
            Ok(_) => "the source has ended".to_owned(),
            Err(error) => format!("the source broke: {}", stdx::Chain(error)),
        };
        self.state.apply(ScreenEvent::Ended(how));
        self.watched = Some(watched);
        Ok(())
    }

    fn replay(&mut self, request: ReplayRequest) {
        let answer = |outcome| Replayed {
            number: request.number,
            address: request.address.clone(),
            outcome,
        };
        if self.is_replaying {
            let outcome = Err("another replay is under way".to_owned());
            self.state.apply(ScreenEvent::Answered(answer(outcome)));
            return;
        }
        let (sent, answers) = (request.clone(), self.answers.0.clone());
        let thread = thread::Builder::new().name("replay".to_owned()).spawn(move || {
            let outcome = replay::send(&sent).map_err(|error| format!("{error:#}"));
            let (number, address) = (sent.number, sent.address);
            // Nobody waits for it any more if this fails.
            let _ = answers.send(Replayed { number, address, outcome });
        });
        match thread {
            Ok(_) => self.is_replaying = true,
            Err(error) => {
                self.state.apply(ScreenEvent::Answered(answer(Err(error.to_string()))));
            }
        }
    }

    fn end(mut self) -> Result<Seen> {
        // A reader that waits for room in the queue sees that it is gone.
        self.queue = None;
        let began = Instant::now();
        while self.reader.as_ref().is_some_and(|reader| !reader.is_finished())
            && began.elapsed() < END_TIME
        {
            thread::sleep(Duration::from_millis(5));
        }
        if self.reader.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join()?;
        }
        Ok(Seen {
            tally: self.state.tally().clone(),
            counts: self.progress.counts(),
            dropped: self.progress.dropped.load(Ordering::Relaxed),
            watched: self.watched,
        })
    }
}

/// Reads the source to its end.
fn read(
    watching: Watching,
    sender: &SyncSender<Box<OwnedExchange>>,
    progress: &ReadProgress,
    stop: &AtomicBool,
) -> Result<Watched, WatchError> {
    let goes_on = watching.goes_on;
    let found = |exchange| {
        if !goes_on {
            return match sender.send(Box::new(exchange)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
        }
        match sender.try_send(Box::new(exchange)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(TrySendError::Full(_)) => {
                progress.dropped.fetch_add(1, Ordering::Relaxed);
                ControlFlow::Continue(())
            }
            Err(TrySendError::Disconnected(_)) => ControlFlow::Break(()),
        }
    };
    let watched = watch_exchanges(watching.source, watching.options, found, |counts| {
        *progress.counts.lock().unwrap_or_else(PoisonError::into_inner) = *counts;
        match stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if let Ok(watched) = &watched {
        *progress.counts.lock().unwrap_or_else(PoisonError::into_inner) = watched.counts;
    }
    watched
}
