//! The page as whoever asks for it gets it, with the figures of the server itself.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use serde_json::json;

use crate::backend::delivery::{Render as _, Transport as _};
use crate::backend::prometheus::{Format, PageListener, PageUpdate, PrometheusPage};
use crate::budget::Usage;
use crate::config::{self, Config};
use crate::flavour::Flavour;
use crate::flush::Flush;
use crate::legacy;
use crate::plan::Plan;
use crate::status::{BackendStatus, ConnectionCounts, ServerStatus, SocketStatus};
use crate::table::Totals;

fn native() -> Plan {
    let wrong = &mut |key: &str, reason: String| panic!("{key}: {reason}");
    config::plan(&Config::default(), Path::new("/nowhere"), wrong)
}

fn status() -> ServerStatus {
    let socket = |address: &str, buffer_bytes, dropped_by_kernel| SocketStatus {
        address: address.to_owned(),
        buffer_bytes,
        dropped_by_kernel,
    };
    let usage =
        |prefix: &str, used, bytes_max| Usage { prefix: prefix.to_owned(), used, bytes_max };
    let backend = BackendStatus {
        delivered: 21,
        lost: 22,
        spooled_bytes: 23,
        foreign_files: 24,
        ..BackendStatus::started()
    };
    ServerStatus {
        totals: Totals {
            packets: 1,
            bytes: 2,
            lines: 3,
            bad: [40, 41, 42, 43, 44, 45, 46],
            last_bad: None,
            notices_dropped: 5,
            values_summarised: 6,
            members_summarised: 7,
        },
        sockets: vec![socket("udp:a", 31, 32), socket("unixgram:\"b\"", 33, 34)],
        connections: ConnectionCounts { open: 8, displaced: 9, endless: 10 },
        management_displaced: 11,
        repeated_dropped: 12,
        repeated_failed: 13,
        names: vec![usage("app.", 14, 15), usage("", 16, 17)],
        overflowed: 18,
        backends: vec![("graphite".to_owned(), backend)],
    }
}

/// What the page has of the server itself, without the common part of the names.
fn samples(page: &PrometheusPage, format: Format) -> Vec<String> {
    let text = String::from_utf8(page.render(&status(), format)).expect("text");
    let lines = text.lines().filter_map(|line| line.strip_prefix("tidegate_statsd_"));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_figure_of_the_server_is_on_the_page() {
    let page = PrometheusPage::new(&native());
    let wanted = [
        "packets_total 1",
        "bytes_total 2",
        "lines_total 3",
        "bad_lines_total{reason=\"key\"} 40",
        "bad_lines_total{reason=\"no_type\"} 41",
        "bad_lines_total{reason=\"type\"} 42",
        "bad_lines_total{reason=\"value\"} 43",
        "bad_lines_total{reason=\"rate\"} 44",
        "bad_lines_total{reason=\"control\"} 45",
        "bad_lines_total{reason=\"notice\"} 46",
        "notices_dropped_total 5",
        "values_summarised_total 6",
        "members_summarised_total 7",
        "connections 8",
        "connections_displaced_total 9",
        "connections_endless_total 10",
        "management_displaced_total 11",
        "repeated_dropped_total 12",
        "repeated_failed_total 13",
        "kernel_dropped_total{socket=\"udp:a\",receiver=\"0\"} 32",
        "kernel_dropped_total{socket=\"unixgram:\\\"b\\\"\",receiver=\"1\"} 34",
        "receive_buffer_bytes{socket=\"udp:a\",receiver=\"0\"} 31",
        "receive_buffer_bytes{socket=\"unixgram:\\\"b\\\"\",receiver=\"1\"} 33",
        "overflowed_total 18",
        "names_bytes{prefix=\"app.\"} 14",
        "names_bytes{prefix=\"\"} 16",
        "names_bytes_max{prefix=\"app.\"} 15",
        "names_bytes_max{prefix=\"\"} 17",
        "flushes_delivered_total{backend=\"graphite\"} 21",
        "flushes_lost_total{backend=\"graphite\"} 22",
        "spooled_bytes{backend=\"graphite\"} 23",
        "foreign_files{backend=\"graphite\"} 24",
        "last_flush_timestamp_seconds 0",
        "page_families 0",
        "page_series 0",
        "page_refused_names 0",
        "page_merged_names 0",
        "page_negative_sums_total 0",
    ];
    assert_eq!(samples(&page, Format::Text), wanted);
    assert_eq!(samples(&page, Format::Open), wanted);
    let heads = |format| {
        let text = String::from_utf8(page.render(&status(), format)).expect("text");
        let heads = text.lines().filter_map(|line| line.strip_prefix("# TYPE tidegate_statsd_"));
        heads.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(heads(Format::Text)[..2], ["packets_total counter", "bytes_total counter"]);
    assert_eq!(heads(Format::Open)[..2], ["packets counter", "bytes counter"]);
    assert_eq!(heads(Format::Open)[7], "connections gauge");
    let without = ServerStatus { sockets: Vec::new(), ..status() };
    let text = String::from_utf8(page.render(&without, Format::Text)).expect("text");
    assert!(!text.contains("kernel_dropped"), "there is no socket");
}

#[test]
fn a_flush_is_on_the_page_once_it_is_delivered_and_its_oddities_are_said() {
    let page = std::sync::Arc::new(PrometheusPage::new(&native()));
    let mut update = PageUpdate(std::sync::Arc::clone(&page));
    let flush = Flush {
        unix_s: 1_700_000_000,
        counters: vec![("a.b".into(), 2.0), ("a-b".into(), 1.0), ("c".into(), -1.0)],
        gauges: vec![("g.h".into(), 1.0), ("g-h".into(), 2.0)],
        ..Flush::default()
    };
    let none = &mut |_: &[u8]| panic!("nothing is sent anywhere");
    update.parts(&flush, &BackendStatus::started(), none).expect("it is taken");
    update.send(b"").and_then(|()| update.end()).expect("there is nothing to send");
    let wanted = json!({
        "families": 3, "series": 3, "refused_names": 1, "merged_names": 1, "negative_sums": 1,
        "last_refused": "g-h",
    });
    assert_eq!(page.status(), wanted);
    let last = &samples(&page, Format::Text)[32..];
    let wanted = [
        "last_flush_timestamp_seconds 1700000000",
        "page_families 3",
        "page_series 3",
        "page_refused_names 1",
        "page_merged_names 1",
        "page_negative_sums_total 1",
    ];
    assert_eq!(last, wanted);
}

#[test]
fn sums_outlast_their_names_for_five_minutes_in_the_flavours_that_delete_them_at_once() {
    let lives = |plan: &Plan| {
        let page = std::sync::Arc::new(PrometheusPage::new(plan));
        let update = PageUpdate(std::sync::Arc::clone(&page));
        let take = |flush: &Flush| {
            update.parts(flush, &BackendStatus::started(), &mut |_| Ok(())).expect("it is taken");
            page.status()["series"].as_u64().expect("a number")
        };
        let mut series = take(&Flush { counters: vec![("a".into(), 1.0)], ..Flush::default() });
        let mut flushes = 0;
        while series > 0 {
            series = take(&Flush::default());
            flushes += 1;
        }
        flushes
    };
    assert_eq!(lives(&native()), 1);
    for (interval_ms, flushes) in [(10_000, 31), (100_000, 4), (70_000, 6)] {
        let text = format!("{{ flushInterval: {interval_ms} }}");
        let plan = legacy::read(&text, Flavour::Statsd).expect("the file can be used");
        assert_eq!(lives(&plan), flushes, "{interval_ms}");
    }
}

/// What is answered to a request.
fn ask(address: SocketAddr, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("{request}\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is open");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it is text");
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
    (head.to_ascii_lowercase(), body.to_owned())
}

#[test]
fn the_page_is_served_in_the_format_that_is_asked_for_and_at_its_path_alone() {
    let address = SocketAddr::from(([127, 0, 0, 1], testkit::free_port()));
    let listener = PageListener::bind(address).expect("it is free");
    assert!(PageListener::bind(address).is_err(), "it is taken");
    let server = listener.start(|format| format!("{format:?}").into_bytes()).expect("a thread");
    let open = "accept: application/openmetrics-text";
    for (request, status, kind, body) in [
        (
            "GET /metrics HTTP/1.1".to_owned(),
            200,
            "text/plain; version=0.0.4; charset=utf-8",
            "Text",
        ),
        (
            format!("GET /metrics HTTP/1.1\r\n{open}"),
            200,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "Open",
        ),
        (
            format!("GET /metrics HTTP/1.1\r\naccept: text/html\r\n{open}"),
            200,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
            "Open",
        ),
        ("HEAD /metrics HTTP/1.1".to_owned(), 200, "text/plain; version=0.0.4; charset=utf-8", ""),
    ] {
        let (head, found) = ask(address, &request);
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{request}: {head}");
        assert!(head.contains(&format!("content-type: {kind}")), "{request}: {head}");
        assert!(head.contains("cache-control: no-store"), "{request}: {head}");
        assert_eq!(found, body, "{request}");
    }
    let (head, _) = ask(address, "GET /other HTTP/1.1");
    assert!(head.starts_with("http/1.1 404"), "{head}");
    let (head, _) = ask(address, "POST /metrics HTTP/1.1\r\ncontent-length: 0");
    assert!(head.starts_with("http/1.1 405") && head.contains("allow: get, head"), "{head}");
    server.end();
    assert!(TcpStream::connect(address).is_err(), "it is over");
}
