//! Keeps the page for Prometheus: what flushes brought, as of the last one, and how the server
//! does.
//!
//! Each flush is added to the page's series, and each request writes them, under one lock of the
//! page. Receivers do not know that lock; a request takes theirs only to read totals. The server's
//! own figures are those of the moment, under `tidegate_statsd_`, where `series` lets no family of
//! statsd begin.
//! Rendering a flush adds it. So `BackendPlan::may_come_later` must be false here: a spool would
//! count twice. Bins are those of the start: a reload does not change them.
//! With the references' flavours, names that they delete when idle keep their sums for five minutes
//! (docs/STATSD.md says so). The keys of `status` are `statsd.prometheus` of `/status`, and lines
//! of `stats` on the management port.
//! Sources: Prometheus' documentation ("Exposition formats", "Data model"), OpenMetrics 1.0. Never
//! here: HTTP (`scrape`, on `chassis`), our own registry (`metrics`).

mod names;
mod scrape;
mod self_metrics;
mod series;
mod text;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::delivery::{PartSink, Render, Transport};
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::plan::Plan;
use crate::status::{BackendStatus, ServerStatus};
pub(crate) use scrape::{PageListener, PageServer};
use series::PageSeries;
pub(crate) use text::Format;

/// How long sums are kept of names that the references delete when they are idle, so that each
/// does not begin at 0 again.
const KEEP: Duration = Duration::from_secs(300);

/// The series of a server.
#[derive(Debug)]
pub(crate) struct PrometheusPage(Mutex<PageSeries>);

impl PrometheusPage {
    /// Without series yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        let keep = match plan.flavour {
            // Here names are idle for long before they go.
            Flavour::Native => 0,
            _ => (KEEP.as_secs_f64() / plan.interval.as_secs_f64()).ceil() as u64,
        };
        Self(Mutex::new(PageSeries::new(plan.histograms.clone(), keep)))
    }

    /// What it shows, and what not as it came, as JSON.
    pub(crate) fn status(&self) -> Value {
        let series = self.0.lock();
        let ((families, lines), oddities) = (series.len(), &series.oddities);
        json!({
            "families": families,
            "series": lines,
            "refused_names": oddities.refused,
            "merged_names": oddities.merged,
            "negative_sums": oddities.negative_sums,
            "last_refused": oddities.last_refused.as_deref(),
        })
    }

    /// The page as it is, with how the server itself does.
    pub(crate) fn render(&self, status: &ServerStatus, format: Format) -> Vec<u8> {
        let mut page = text::TextPage::new(format);
        self_metrics::write(status, &mut page);
        let series = self.0.lock();
        self_metrics::write_series(&series, &mut page);
        series.write(&mut page);
        page.end()
    }
}

/// Adds flushes to the page.
#[derive(Debug, Clone)]
pub(super) struct PageUpdate(pub Arc<PrometheusPage>);

impl Render for PageUpdate {
    /// Without parts: nothing is sent anywhere.
    fn parts(&self, flush: &Flush, _: &BackendStatus, _: PartSink<'_>) -> io::Result<()> {
        self.0.0.lock().take(flush);
        Ok(())
    }
}

impl Transport for PageUpdate {
    fn send(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
