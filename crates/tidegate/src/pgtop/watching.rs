//! Reads one server on a thread of its own, and does what the screen asks there.
//!
//! A sample is read each second, or more often if frames are; each `delay` it is a full one, with
//! what the view needs. Slow queries, counts and recordings are made of every sample, whatever the
//! screen does.
//! Invariants: a server that has gone is asked again with growing pauses, and the screen says so.
//! Signals are recorded (`trail.rs`). Bound: the screen is sent a frame only while fewer than
//! `WAITING_MAX` wait there.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ::pgtop::{
    FrameRecorder, FrameRequest, FrameSource, PgAddress, PgError, PgFrame, SignalKind, SlowWatch,
    TopEvent, Victim, explain,
};
use anyhow::{Context, Result};
use stdx::Backoff;

use super::alerts::AlertSender;
use super::counts::CountSender;
use super::names::ClientNames;
use super::trail::SignalTrail;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(1);
const WAITING_MAX: usize = 4;
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// What the screen asks of a server's thread.
pub(super) enum WatchOrder {
    Request(FrameRequest),
    Delay(Duration),
    Signal(SignalKind, Vec<Victim>),
    WholeText(Victim),
    Explain(Victim),
}

/// What becomes of frames besides being shown.
pub(super) struct FrameOutputs {
    /// Of all servers, so that two tabs of one tell a query once.
    pub(super) slow: Arc<Mutex<SlowWatch>>,
    pub(super) slow_threshold_s: f64,
    pub(super) alerts: Arc<AlertSender>,
    pub(super) counts: Option<CountSender>,
    pub(super) recorder: Option<Arc<Mutex<FrameRecorder>>>,
    /// The names of clients' addresses, if they are wanted.
    pub(super) names: Option<Arc<ClientNames>>,
    /// Why frames are not recorded any more.
    pub(super) unrecorded: Option<String>,
}

/// Which server is watched, and how it begins.
pub(super) struct WatchPlan {
    pub(super) tab: usize,
    pub(super) address: PgAddress,
    pub(super) request: FrameRequest,
    pub(super) delay: Duration,
    pub(super) trail: SignalTrail,
    pub(super) events: Sender<TopEvent>,
}

/// A server's thread.
struct WatchThread {
    plan: WatchPlan,
    source: FrameSource,
    name: String,
    outputs: FrameOutputs,
    waiting: Arc<AtomicUsize>,
}

/// How the screen reaches a server's thread.
pub(super) struct WatchHandle {
    pub(super) orders: Sender<WatchOrder>,
    /// Frames that the screen has not taken yet.
    pub(super) waiting: Arc<AtomicUsize>,
}

impl WatchPlan {
    /// Starts a thread for the server.
    ///
    /// # Errors
    /// When there is no thread to be had.
    pub(super) fn start(self, outputs: FrameOutputs) -> Result<WatchHandle> {
        let (orders, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let builder = thread::Builder::new().name(format!("pgtop {}", self.tab));
        let mut thread = WatchThread {
            source: FrameSource::new(self.address.clone()),
            name: self.address.to_string(),
            plan: self,
            outputs,
            waiting: Arc::clone(&waiting),
        };
        builder.spawn(move || thread.run(&receiver)).context("start a thread")?;
        Ok(WatchHandle { orders, waiting })
    }
}

impl WatchThread {
    /// Reads until the screen has gone.
    fn run(&mut self, orders: &Receiver<WatchOrder>) {
        let mut retries = Backoff::new(RETRY_FIRST, RETRY_MAX, u64::from(std::process::id()));
        let mut full = Instant::now();
        let mut next = full;
        loop {
            match orders.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(order) => {
                    if self.obey(order) {
                        (full, next) = (Instant::now(), Instant::now());
                    }
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let begun = Instant::now();
            let is_full = begun >= full;
            match self.sample(is_full) {
                Ok(()) => {
                    retries.reset();
                    if is_full {
                        full = begun + self.plan.delay;
                    }
                    next = (begun + SAMPLE_INTERVAL.min(self.plan.delay)).min(full);
                }
                Err(error) => {
                    let pause = retries.delay();
                    let seconds = pause.as_secs_f64();
                    let (what, again) = match &error {
                        PgError::Lost(_) => ("GONE", "connecting again"),
                        PgError::Answered { .. } => ("NOT READ", "asking again"),
                    };
                    let reason = format!("{error}; {again} in {seconds:.1} s");
                    self.send(TopEvent::Lost { tab: self.plan.tab, what, reason });
                    (full, next) = (begun, Instant::now() + pause);
                }
            }
        }
    }

    fn sample(&mut self, is_full: bool) -> Result<(), PgError> {
        let mut request = self.plan.request.clone();
        if !is_full {
            request.views.clear();
        }
        let mut frame = self.source.frame(&request)?;
        let outputs = &mut self.outputs;
        outputs.names.iter().for_each(|names| names.put_into(&mut frame));
        let mut slow = outputs.slow.lock().unwrap_or_else(PoisonError::into_inner);
        let crossings = slow.crossings(&self.plan.address.server(), &frame);
        drop(slow);
        if is_full || !crossings.is_empty() {
            let threshold = outputs.slow_threshold_s;
            outputs.counts.iter().for_each(|it| it.send(&frame, threshold, crossings.len()));
        }
        crossings.into_iter().for_each(|query| outputs.alerts.send(query));
        frame.missing.extend(outputs.alerts.trouble());
        frame.missing.extend(outputs.unrecorded.clone());
        self.record(&mut frame);
        if self.waiting.load(Ordering::Relaxed) < WAITING_MAX {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            self.send(TopEvent::Frame { tab: self.plan.tab, frame: Box::new(frame), is_full });
        }
        Ok(())
    }

    fn record(&mut self, frame: &mut PgFrame) {
        let Some(recorder) = &self.outputs.recorder else { return };
        let pushed = recorder.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
        if let Err(error) = pushed {
            let reason = format!("recording has ended: {}", stdx::Chain(&error));
            (self.outputs.recorder, self.outputs.unrecorded) = (None, Some(reason.clone()));
            self.send(TopEvent::Failed(reason));
        }
    }

    /// Does what the screen asks; returns whether a new frame is wanted at once.
    fn obey(&mut self, order: WatchOrder) -> bool {
        match order {
            WatchOrder::Request(request) => {
                let is_new = self.plan.request != request;
                self.plan.request = request;
                return is_new;
            }
            WatchOrder::Delay(delay) => self.plan.delay = delay,
            WatchOrder::Signal(kind, victims) => {
                self.signal(kind, victims);
                return true;
            }
            WatchOrder::WholeText(victim) => {
                let event = match self.source.whole_text(victim.identity) {
                    Err(error) => TopEvent::Failed(error.to_string()),
                    Ok(None) => ended(&victim),
                    Ok(Some(whole)) => {
                        let mut title = format!("query of {}", victim.identity.pid);
                        if whole.is_cut {
                            title += ", cut by the server (track_activity_query_size)";
                        }
                        TopEvent::Text(title, whole.text)
                    }
                };
                self.send(event);
            }
            WatchOrder::Explain(victim) => {
                let event = self.explained(&victim);
                self.send(event.unwrap_or_else(|error| TopEvent::Failed(error.to_string())));
            }
        }
        false
    }

    fn explained(&mut self, victim: &Victim) -> Result<TopEvent, PgError> {
        let Some(whole) = self.source.whole_text(victim.identity)? else {
            return Ok(ended(victim));
        };
        if whole.is_cut {
            let text = "the server has cut the query (track_activity_query_size); it has no plan";
            return Ok(TopEvent::Failed(text.to_owned()));
        }
        let plan = explain(self.source.address(), &whole.database, &whole.text)?;
        let title = format!("plan of {} in {}", victim.identity.pid, whole.database);
        Ok(TopEvent::Text(title, plan))
    }

    fn signal(&mut self, kind: SignalKind, victims: Vec<Victim>) {
        let (mut results, mut notes) = (Vec::new(), Vec::new());
        for victim in victims {
            let source = &mut self.source;
            let sent = self
                .plan
                .trail
                .recorded((kind, &victim, &self.name), || source.signal(kind, victim.identity));
            match sent {
                Ok((outcome, unwritten)) => {
                    notes.extend(unwritten);
                    results.push((victim, outcome));
                }
                Err(error) => {
                    let pid = victim.identity.pid;
                    self.send(TopEvent::Failed(format!("{pid} not signalled: {error}")));
                    break;
                }
            }
        }
        if !results.is_empty() {
            self.send(TopEvent::Signalled { tab: self.plan.tab, kind, results });
        }
        notes.into_iter().for_each(|note| self.send(TopEvent::Failed(note)));
    }

    fn send(&self, event: TopEvent) {
        // The screen has gone, if this fails, and this thread goes next.
        let _ = self.plan.events.send(event);
    }
}

fn ended(victim: &Victim) -> TopEvent {
    TopEvent::Failed(format!("the query of {} has ended", victim.identity.pid))
}
