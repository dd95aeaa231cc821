//! Watching a PostgreSQL with 500 sessions: time of a frame of `tidegate pgtop`, what it costs the
//! server, and memory over an hour of samples.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use pgtop::{
    ConnectionSettings, FrameRequest, FrameSource, PgConnection, PgView, SessionFilter, TopEvent,
    TopOptions, TopScreen,
};
use screen::Style;
use testkit::Postgres;

use super::Row;
use crate::measure::Measurement;
use crate::process::{rss_bytes, server_cpu};
use crate::setup::Setup;

pub(super) const ROW: Row = Row {
    name: "pgtop",
    what: "a frame of `tidegate pgtop` at 500 sessions: time, the backend's CPU, memory",
    notes: "500 sessions are connected and idle; a frame is read, counted and drawn, 120 by 40.\n\
        Frames follow each other at once. The share of a core is what the backend of one frame a \
        second would take.\n\
        Memory is that of the whole program of the benchmark, some minutes of samples in and an \
        hour of them later.",
    peers: &["postgresql"],
    run,
};

const SESSIONS: usize = 500;
const FRAMES: usize = 600;
const HOUR: usize = 3600;

fn run(setup: &Setup) -> Result<Vec<Measurement>> {
    let postgres = Postgres::start();
    let url = postgres.database();
    postgres.query(&url, "ALTER SYSTEM SET max_connections = 520");
    postgres.kill();
    postgres.start_again();
    let settings = ConnectionSettings::parse(&url).context("the address")?;
    let address = settings.resolve(&ConnectionSettings::default(), &|_| None)?;
    let idle: Vec<PgConnection> = (0..SESSIONS)
        .map(|_| PgConnection::open(&address).context("open a session"))
        .collect::<Result<_>>()?;
    let mut source = FrameSource::new(address);
    let mut screen = top();
    let mut frame = |locks: bool| -> Result<f64> {
        let begun = Instant::now();
        let views = Vec::new();
        let frame = source.frame(&FrameRequest { locks, views, text_bytes: 1000 })?;
        ensure!(frame.sessions.len() >= SESSIONS, "{} sessions", frame.sessions.len());
        screen.apply(TopEvent::Frame { tab: 0, frame: Box::new(frame), is_full: true });
        let style = Style { width: 120, ..Style::default() };
        let text = screen::drawn(style, 40, |pane| screen.draw(pane));
        ensure!(text.contains("Sessions: 50"), "{text}");
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    frame(true)?;
    let pid = postgres.query(
        &url,
        "SELECT pid FROM pg_stat_activity WHERE query LIKE '%textsend(query)%' \
         AND pid <> pg_backend_pid()",
    );
    let pid: u32 = pid.parse().with_context(|| format!("the backend: {pid}"))?;
    let (mut times, mut slowest, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..setup.rounds.min(5) {
        let before = server_cpu(pid)?;
        let mut all: Vec<f64> = (0..FRAMES).map(|_| frame(true)).collect::<Result<_>>()?;
        let cpu_ms = server_cpu(pid)?.since(before).total_us() / 1e3 / FRAMES as f64;
        all.sort_by(f64::total_cmp);
        times.push(all[FRAMES / 2]);
        slowest.push(all[FRAMES * 99 / 100]);
        // Milliseconds of a second.
        shares.push(cpu_ms / 10.0);
    }
    let this = std::process::id();
    let early = rss_bytes(this) as f64 / 1e6;
    (0..HOUR).try_for_each(|_| frame(true).map(drop))?;
    let late = rss_bytes(this) as f64 / 1e6;
    drop(idle);
    let name = "tidegate pgtop";
    Ok(vec![
        Measurement::new(name, "ms for a frame, median", times),
        Measurement::new(name, "ms for a frame, p99", slowest).at_most(50.0, "below 50"),
        Measurement::new(name, "% of a core in the backend, a frame a second", shares)
            .at_most(1.0, "below 1"),
        Measurement::new(name, "MB after some minutes", [early]),
        Measurement::new(name, "MB after an hour more", [late]).at_most(early + 10.0, "flat"),
    ])
}

fn top() -> TopScreen {
    let view = PgView::Running;
    TopScreen::new(TopOptions {
        names: vec!["bench".to_owned()],
        view,
        order: view.order(),
        filter: SessionFilter::default(),
        has_header: true,
        delay_s: 1.0,
        slow_threshold_s: 60.0,
        records: false,
        is_replay: false,
        settings: String::new(),
        size: (120, 40),
        unrecorded: None,
        time_of_day: |time_us| time_us.to_string(),
    })
}
