//! Claims about the page.

use std::borrow::Cow;

use super::ReportAbout;
use crate::limits::WatchCounts;
use crate::owned::OwnedExchange;
use crate::tally::ExchangeTally;
use crate::view::{View, ViewTimes};

#[test]
fn the_page_has_tables_and_drawings_and_no_markup_of_a_client() {
    let mut tally = ExchangeTally::default();
    for number in 0..2000_u64 {
        let url = format!("/<script>alert({number})</script>\u{1b}[2J\"onload='x'");
        let view = View {
            url: Cow::Owned(url.into_bytes()),
            host: Some(Cow::Borrowed(b"<b>&")),
            client: Cow::Borrowed(b"192.0.2.24"),
            times: ViewTimes {
                time_us: Some(1_795_233_252_000_000 + number * 1_000_000),
                total_us: Some(1000 + number),
                ..ViewTimes::default()
            },
            status: Some(if number % 100 == 0 { 503 } else { 200 }),
            ..View::default()
        };
        tally.add(&OwnedExchange::new(&view, false));
    }
    let counts = WatchCounts { lines: 2001, requests: 2000, unread: 1, ..WatchCounts::default() };
    let about =
        ReportAbout { source: "<log> & co", selected: "`a < 1`", counts: &counts, dropped: 5 };
    let page = tally.to_html(&about);
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(!page.contains("<script") && !page.contains("<b>") && !page.contains('\u{1b}'));
    assert!(!page.contains("<log>") && page.contains("&lt;log&gt; &amp; co"), "{page}");
    for wanted in [
        "2026-11-21 03:54:12 to 2026-11-21 04:27:31 UTC",
        "only what satisfies `a &lt; 1`",
        "2,000 exchanges of 2,000 requests in 2,001 lines",
        "5 not counted, for they came too fast",
        "not used: 1 not of the format",
        "<td>503</td><td>20</td><td>1 %</td><td>20</td>",
        "By path",
        "By cache",
        "951 more",
        "Latency of all exchanges",
        "Latency over time",
    ] {
        assert!(page.contains(wanted), "{wanted}");
    }
    assert!(page.len() < 300_000, "{}", page.len());
}

#[test]
fn a_page_of_nothing_is_whole() {
    let counts = &WatchCounts::default();
    let about = ReportAbout { source: "x", selected: "", counts, dropped: 0 };
    let page = ExchangeTally::default().to_html(&about);
    assert!(page.contains("0 exchanges of 0 requests") && page.ends_with("</html>\n"), "{page}");
}
