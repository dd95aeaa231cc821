//! Against a real PostgreSQL, with `psql` as the oracle.

use testkit::Postgres;

use crate::filter::SessionFilter;
use crate::{ConnectionSettings, FrameRequest, FrameSource, PgFrame, PgView, ViewedFrames};

mod catalogs;
mod figures;
mod kills;

/// A source for a database of a server.
fn source(url: &str) -> FrameSource {
    let settings = ConnectionSettings::parse(url).unwrap();
    let address = settings.resolve(&ConnectionSettings::default(), &|_| None).unwrap();
    FrameSource::new(address)
}

fn request(views: &[PgView]) -> FrameRequest {
    FrameRequest {
        locks: views.iter().any(|view| view.needs_locks()),
        views: views.iter().map(|view| view.name().to_owned()).collect(),
        text_bytes: 1000,
    }
}

/// Waits until a statement has an answer, as seen by another session.
fn until(server: &Postgres, url: &str, sql: &str, wanted: &str) {
    let mut session = server.session(url);
    let begun = std::time::Instant::now();
    loop {
        let answer = session.ask(sql).unwrap();
        if answer == wanted {
            return;
        }
        assert!(begun.elapsed() < testkit::FIXTURE_TIMEOUT, "{sql}: {answer}, not {wanted}");
        std::thread::yield_now();
    }
}

fn text(view: PgView, frame: &PgFrame, before: Option<&PgFrame>) -> String {
    let frames = ViewedFrames { frame, before, slow_threshold_s: 60.0 };
    let listing = view.listing(&frames, &SessionFilter::default(), view.order());
    listing.table(&screen::Style { width: 300, ..screen::Style::default() })
}
