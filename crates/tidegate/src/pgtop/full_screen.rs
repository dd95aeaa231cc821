//! Runs the full screen: threads read servers, or a recording is read here; this one draws and
//! takes keys.
//!
//! Invariants: the terminal is given back however this ends. It is drawn when something has
//! happened, and each second, because messages go and servers stay away. Never here: what is drawn,
//! and what keys mean.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ::pgtop::{FrameRecorder, SlowWatch, TopAction, TopEvent, TopOptions, TopScreen};
use anyhow::{Context, Result};
use screen::{Style, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::alerts::AlertSender;
use super::counts::CountSender;
use super::names::ClientNames;
use super::replay::Replay;
use super::settings::{TopLook, TopSettings};
use super::time;
use super::trail::SignalTrail;
use super::watching::{FrameOutputs, WatchHandle, WatchOrder, WatchPlan};
use crate::cli::PgtopArgs;

/// How long a key is waited for before events are looked at.
const KEY_TIME: Duration = Duration::from_millis(50);
/// How often the screen is told the time.
const TICK: Duration = Duration::from_secs(1);

const NOWHERE: &str = "signals are recorded nowhere: there is no syslog (/dev/log), and no \
                       configuration (--audit-config)";

/// Where frames come from.
enum FrameOrigin {
    Servers(Vec<WatchHandle>),
    Recording(Box<Replay>),
}

struct ScreenRun {
    screen: TopScreen,
    origin: FrameOrigin,
    events: Receiver<TopEvent>,
}

/// Shows servers until the user leaves.
///
/// # Errors
/// When there is no terminal, or a file cannot be opened.
pub(super) fn watch(args: &PgtopArgs, settings: TopSettings) -> Result<()> {
    let stop = stop_by_signal()?;
    let names: Vec<String> = settings.addresses.iter().map(ToString::to_string).collect();
    // All servers are recorded to one file.
    let recorder = args.output.record.as_deref();
    let recorder =
        recorder.map(|file| FrameRecorder::open(file, args.output.record_size.0)).transpose()?;
    let recorder = recorder.map(|recorder| Arc::new(Mutex::new(recorder)));
    let trail = SignalTrail::open(args.audit_config.as_deref())?;
    let log = settings.slow_log.clone();
    let alerts = Arc::new(AlertSender::start(log, settings.webhook.clone())?);
    let mut options = options(&settings, names.clone(), (recorder.is_some(), false));
    options.unrecorded = trail.is_nowhere().then(|| NOWHERE.to_owned());
    let screen = TopScreen::new(options);
    let (sender, events): (Sender<TopEvent>, _) = mpsc::channel();
    let slow = Arc::new(Mutex::new(SlowWatch::new(settings.slow_threshold_s)));
    let client_names = settings.has_names.then(ClientNames::start).transpose()?.map(Arc::new);
    let mut handles = Vec::new();
    for (tab, address) in settings.addresses.iter().enumerate() {
        let threshold = settings.slow_threshold_s;
        let statsd = args.output.statsd.as_deref();
        let counts = statsd.map(|statsd| CountSender::open(statsd, &names[tab])).transpose()?;
        let outputs = FrameOutputs {
            slow: Arc::clone(&slow),
            slow_threshold_s: threshold,
            alerts: Arc::clone(&alerts),
            counts,
            recorder: recorder.clone(),
            names: client_names.clone(),
            unrecorded: None,
        };
        let plan = WatchPlan {
            tab,
            address: address.clone(),
            request: screen.request(tab),
            delay: settings.look.delay,
            trail: trail.clone(),
            events: sender.clone(),
        };
        handles.push(plan.start(outputs)?);
    }
    let mut run = ScreenRun { screen, origin: FrameOrigin::Servers(handles), events };
    run.until_quit(settings.look.style, &stop)
}

/// Shows a recording until the user leaves.
///
/// # Errors
/// When it cannot be read, or there is no terminal.
pub(super) fn replay(args: &PgtopArgs, settings: &TopSettings) -> Result<()> {
    let Some(file) = &args.output.replay else { return Ok(()) };
    let stop = stop_by_signal()?;
    let options = options(settings, vec![file.display().to_string()], (false, true));
    let mut screen = TopScreen::new(options);
    let mut replay = Replay::open(file, |frame| screen.remember(frame))?;
    let (lost, shown) = (replay.lost(), replay.shown(&screen)?);
    let (_, events) = mpsc::channel();
    let mut run = ScreenRun { screen, origin: FrameOrigin::Recording(Box::new(replay)), events };
    run.take(shown);
    if lost > 0 {
        let text = format!("the recording is damaged: {lost} frames are lost");
        run.take(TopEvent::Failed(text));
    }
    run.until_quit(settings.look.style, &stop)
}

fn options(
    settings: &TopSettings,
    names: Vec<String>,
    (records, is_replay): (bool, bool),
) -> TopOptions {
    let TopLook { delay, view, order, filter, has_header, style } = settings.look.clone();
    TopOptions {
        settings: settings.text(),
        unrecorded: None,
        names,
        view,
        order,
        filter,
        has_header,
        delay_s: delay.as_secs_f64(),
        slow_threshold_s: settings.slow_threshold_s,
        records,
        is_replay,
        size: (style.width, 24),
        time_of_day: time::time_of_day,
    }
}

fn stop_by_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("take signals over")?;
    }
    Ok(stop)
}

impl ScreenRun {
    fn until_quit(&mut self, style: Style, stop: &AtomicBool) -> Result<()> {
        let mut terminal = Terminal::take().context("take the terminal; `-b` needs none")?;
        let (columns, rows) = terminal.size().context("ask the terminal for its size")?;
        self.screen.apply(TopEvent::Input(screen::Input::Resized(columns, rows)));
        let mut is_changed = true;
        let mut tick: Option<Instant> = None;
        while !stop.load(Ordering::Relaxed) {
            if tick.is_none_or(|last| last.elapsed() >= TICK) {
                (tick, is_changed) = (Some(Instant::now()), true);
                self.screen.apply(TopEvent::Time(time::now_us()));
            }
            while let Ok(event) = self.events.try_recv() {
                is_changed = true;
                self.take(event);
            }
            if is_changed {
                terminal.draw(style, |pane| self.screen.draw(pane)).context("draw")?;
            }
            is_changed = false;
            let mut timeout = KEY_TIME;
            while let Some(input) = terminal.input(timeout).context("read keys")? {
                (timeout, is_changed) = (Duration::ZERO, true);
                let Some(action) = self.screen.apply(TopEvent::Input(input)) else { continue };
                if action == TopAction::Quit {
                    return Ok(());
                }
                if let TopAction::Copy(text) = &action {
                    let event = match terminal.copy(text).context("copy")? {
                        true => TopEvent::Done("copied, where the terminal allows it".to_owned()),
                        false => TopEvent::Failed("too long for the clipboard".to_owned()),
                    };
                    self.screen.apply(event);
                }
                self.act(action);
            }
        }
        Ok(())
    }

    fn take(&mut self, event: TopEvent) {
        if let (TopEvent::Frame { tab, .. }, FrameOrigin::Servers(handles)) = (&event, &self.origin)
        {
            handles[*tab].waiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.screen.apply(event);
    }

    fn act(&mut self, action: TopAction) {
        match &mut self.origin {
            FrameOrigin::Recording(replay) => {
                let TopAction::Seek(step) = action else { return };
                let event = replay.seek(step, &self.screen);
                self.take(event);
            }
            FrameOrigin::Servers(handles) => {
                let order = |tab: usize, order| {
                    // A thread that has gone has panicked, which the terminal shows.
                    let _ = handles[tab].orders.send(order);
                };
                match action {
                    TopAction::Watch => {
                        for tab in 0..handles.len() {
                            order(tab, WatchOrder::Request(self.screen.request(tab)));
                        }
                    }
                    TopAction::Delay(seconds) => {
                        let delay = Duration::from_secs_f64(seconds);
                        (0..handles.len()).for_each(|tab| order(tab, WatchOrder::Delay(delay)));
                    }
                    TopAction::Signal { tab, kind, victims } => {
                        order(tab, WatchOrder::Signal(kind, victims));
                    }
                    TopAction::WholeText(tab, victim) => order(tab, WatchOrder::WholeText(victim)),
                    TopAction::Explain(tab, victim) => order(tab, WatchOrder::Explain(victim)),
                    TopAction::Quit | TopAction::Copy(_) | TopAction::Seek(_) => {}
                }
            }
        }
    }
}
