//! Writes how the server itself does, as families of the page, under `tidegate_statsd_`.
//!
//! First come those of [`ServerStatus`]: what came in, sockets, names, backends. Then those of the
//! page itself: the last flush, its size, and names that are not shown as they came.
//! Invariant: it only writes what is counted elsewhere. A new figure of the server goes into
//! `status.rs` first, one of the page into `PrometheusPage::status`, so that the JSON has it, too.
//! Users' queries have the names of families and labels; docs/STATSD.md has those of names that are
//! not shown. The values of `reason` are the words of `BadReason` (`line/sink.rs`).

use super::names::escaped;
use super::series::PageSeries;
use super::text::TextPage;
use crate::line::BadReason;
use crate::status::ServerStatus;

/// Writes what came in, what was lost on the way, and how backends do.
pub(super) fn write(status: &ServerStatus, page: &mut TextPage) {
    intake(status, page);
    sockets(status, page);
    names(status, page);
    backends(status, page);
}

/// Writes what is on the page, and what is not as it came.
pub(super) fn write_series(series: &PageSeries, page: &mut TextPage) {
    let (families, lines) = series.len();
    let odd = &series.oddities;
    gauge(page, "last_flush_timestamp_seconds", "When it flushed last.", series.last_unix_s);
    gauge(page, "page_families", "Families on this page, but its own.", families as u64);
    gauge(page, "page_series", "Series on this page, but its own.", lines as u64);
    let refused = "Names that are not shown, because others are shown in their place.";
    gauge(page, "page_refused_names", refused, odd.refused);
    let merged = "Counters that are added to others, whose names they have become.";
    gauge(page, "page_merged_names", merged, odd.merged);
    let negative = "Sums of counters below 0, which are not added.";
    counter(page, "page_negative_sums_total", negative, odd.negative_sums);
}

fn intake(status: &ServerStatus, page: &mut TextPage) {
    let totals = &status.totals;
    counter(page, "packets_total", "Datagrams, and parts of streams.", totals.packets);
    counter(page, "bytes_total", "Their bytes.", totals.bytes);
    counter(page, "lines_total", "Lines.", totals.lines);
    let name = prefixed("bad_lines_total");
    page.counter(&name, "Lines, or pieces of them, that say nothing, by reason.");
    for (reason, count) in BadReason::ALL.iter().zip(totals.bad) {
        page.sample((&name, ""), "", Some(("reason", reason.name())), count as f64);
    }
    let dropped = "Events and checks that found no room.";
    counter(page, "notices_dropped_total", dropped, totals.notices_dropped);
    let summarised = "Values of timers that were too many to be kept as they are.";
    counter(page, "values_summarised_total", summarised, totals.values_summarised);
    let summarised = "Members of sets that were too many to be kept as they are.";
    counter(page, "members_summarised_total", summarised, totals.members_summarised);
    gauge(page, "connections", "Open connections.", status.connections.open);
    let text = "Connections that were closed because there were too many.";
    counter(page, "connections_displaced_total", text, status.connections.displaced);
    let text = "Connections that were closed because a line did not end.";
    counter(page, "connections_endless_total", text, status.connections.endless);
    let text = "Connections to the management port that were closed to make room.";
    counter(page, "management_displaced_total", text, status.management_displaced);
    let text = "Datagrams that were not repeated for want of room.";
    counter(page, "repeated_dropped_total", text, status.repeated_dropped);
    let text = "Datagrams that a server could not be sent.";
    counter(page, "repeated_failed_total", text, status.repeated_failed);
}

fn sockets(status: &ServerStatus, page: &mut TextPage) {
    let labels: Vec<String> = status
        .sockets
        .iter()
        .enumerate()
        .map(|(at, socket)| format!("socket=\"{}\",receiver=\"{at}\"", escaped(&socket.address)))
        .collect();
    if labels.is_empty() {
        return;
    }
    let name = prefixed("kernel_dropped_total");
    page.counter(&name, "Datagrams that the kernel dropped, by socket.");
    for (socket, labels) in status.sockets.iter().zip(&labels) {
        page.sample((&name, ""), labels, None, socket.dropped_by_kernel as f64);
    }
    let name = prefixed("receive_buffer_bytes");
    page.head(&name, "gauge", "Receive buffer that was granted, by socket.");
    for (socket, labels) in status.sockets.iter().zip(&labels) {
        page.sample((&name, ""), labels, None, socket.buffer_bytes as f64);
    }
}

fn names(status: &ServerStatus, page: &mut TextPage) {
    let overflowed = "Samples that went to an overflow key.";
    counter(page, "overflowed_total", overflowed, status.overflowed);
    let labels = |prefix: &str| format!("prefix=\"{}\"", escaped(prefix));
    let name = prefixed("names_bytes");
    page.head(&name, "gauge", "Memory for names, by prefix.");
    for usage in &status.names {
        page.sample((&name, ""), &labels(&usage.prefix), None, usage.used as f64);
    }
    let name = prefixed("names_bytes_max");
    page.head(&name, "gauge", "Memory that names may take, by prefix.");
    for usage in &status.names {
        page.sample((&name, ""), &labels(&usage.prefix), None, usage.bytes_max as f64);
    }
}

fn backends(status: &ServerStatus, page: &mut TextPage) {
    let name = prefixed("flushes_delivered_total");
    page.counter(&name, "Flushes that were delivered at once, by backend.");
    for (backend, status) in &status.backends {
        page.sample((&name, ""), "", Some(("backend", backend)), status.delivered as f64);
    }
    let name = prefixed("flushes_lost_total");
    page.counter(&name, "Flushes of which something was given up, by backend.");
    for (backend, status) in &status.backends {
        page.sample((&name, ""), "", Some(("backend", backend)), status.lost as f64);
    }
    let name = prefixed("spooled_bytes");
    page.head(&name, "gauge", "Bytes that wait on disk, by backend.");
    for (backend, status) in &status.backends {
        page.sample((&name, ""), "", Some(("backend", backend)), status.spooled_bytes as f64);
    }
    let name = prefixed("foreign_files");
    page.head(&name, "gauge", "Things in the spool that are no parts of flushes, by backend.");
    for (backend, status) in &status.backends {
        page.sample((&name, ""), "", Some(("backend", backend)), status.foreign_files as f64);
    }
}

fn prefixed(name: &str) -> String {
    format!("{}{name}", super::series::SELF_PREFIX)
}

fn counter(page: &mut TextPage, name: &str, help: &str, value: u64) {
    let name = prefixed(name);
    page.counter(&name, help);
    page.sample((&name, ""), "", None, value as f64);
}

fn gauge(page: &mut TextPage, name: &str, help: &str, value: u64) {
    let name = prefixed(name);
    page.head(&name, "gauge", help);
    page.sample((&name, ""), "", None, value as f64);
}
