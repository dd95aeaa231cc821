//! Claims about `varnish`.

use super::{numbered, tag_and_data};
use crate::tag::Tag;
use crate::watch::WatchOptions;
use crate::watch::tests::{shown, shown_with};
use crate::{Grouping, Query, WatchLimits};

#[test]
fn a_tag_takes_its_columns_and_data_begins_behind_them() {
    let read = |line: &'static str| tag_and_data(line.as_bytes(), 14).unwrap();
    assert_eq!(read("ReqURL         /vmods/"), (Tag::REQ_URL, &b"/vmods/"[..]));
    assert_eq!(read("ReqURL           two"), (Tag::REQ_URL, &b"  two"[..]));
    assert_eq!(read("Backend_health boot"), (Tag::named("Backend_health"), &b"boot"[..]));
    assert_eq!(read("ReqURL /collapsed a b"), (Tag::REQ_URL, &b"/collapsed a b"[..]));
    assert_eq!(read("End            "), (Tag::END, &b""[..]));
    assert_eq!(read("End"), (Tag::END, &b""[..]));
    assert_eq!(tag_and_data(b"Nonsense       x", 14), None);
}

#[test]
fn vxids_have_64_bits() {
    let line = b"18446744073709551615 End            c ";
    assert_eq!(numbered(line).unwrap().0, u64::MAX);
    assert_eq!(numbered(b"18446744073709551616 End            c "), None);
}

const GROUPED: &str = "\
*   << BeReq    >> 3         
-   Begin          bereq 2 fetch
-   BereqURL       /
-   BerespStatus   503
-   End            

*   << Request  >> 2         
-   Begin          req 1 rxreq
-   Timestamp      Start: 1612787907.221931 0.000000 0.000000
-   ReqStart       192.0.2.24 39698 a1
-   ReqMethod      GET
-   ReqURL         /vmods/
-   ReqProtocol    HTTP/1.1
-   ReqHeader      Host: varnish-cache.org
-   VCL_call       RECV
-   VCL_return     hash
-   VCL_call       MISS
-   Link           bereq 3 fetch
-   RespStatus     200
-   RespReason     OK
-   Timestamp      Process: 1612787907.230000 0.008069 0.000001
-   Timestamp      Resp: 1612787907.231931 0.010000 0.001931
-   ReqAcct        45 0 45 231 1000 1231
-   End            

";

const SHOWN: &str = "     192.0.2.24 => GET /vmods/ HTTP/1.1 MISS
                <= 200 OK                                                          10.000 ms
";

fn raw() -> String {
    let mut vxid = "";
    let lines = GROUPED.lines().filter_map(|line| {
        if let Some((_, number)) = line.split_once(">> ") {
            vxid = number.trim_end();
            return None;
        }
        let record = line.strip_prefix("-   ")?;
        Some(format!("{vxid:>10} {:<14} c {}\n", record[..14].trim_end(), &record[15..]))
    });
    lines.collect()
}

#[test]
fn grouped_raw_and_verbose_text_show_the_same() {
    let verbose: String = GROUPED
        .replace("-   ", "-            2 ")
        .lines()
        .map(|line| match line.strip_prefix("-            2 ") {
            Some(record) => format!("-            2 {} c {}\n", &record[..14], &record[15..]),
            None => format!("{line}\n"),
        })
        .collect();
    for text in [GROUPED.to_owned(), raw(), verbose] {
        let (out, watched) = shown(&text);
        assert!(out.starts_with(SHOWN), "{text}\n{out}");
        assert_eq!((watched.counts.requests, watched.counts.to_string().as_str()), (1, ""));
    }
}

#[test]
fn a_group_without_begin_and_end_ends_by_its_blank_line() {
    let filtered: String = GROUPED
        .lines()
        .filter(|line| !line.contains("Begin") && !line.contains("End"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (out, watched) = shown(&filtered);
    assert!(out.starts_with(SHOWN), "{out}");
    assert!(!watched.lacks_ends);
}

#[test]
fn raw_records_without_begin_and_end_are_said_to_be_of_no_use() {
    let filtered: String = raw()
        .lines()
        .filter(|line| !line.contains("Begin") && !line.contains("End"))
        .map(|line| format!("{line}\n"))
        .collect();
    let (_, watched) = shown(&filtered);
    assert!(watched.lacks_ends);
    assert_eq!(watched.counts.strays, watched.counts.lines);
}

#[test]
fn broken_lines_are_counted_and_the_others_read() {
    let broken = GROUPED
        .replace(
            "-   VCL_call       MISS\n",
            "-   VCL_c\n\u{0}\u{1}\u{2}\n-   VCL_call       MISS\n",
        )
        .replace("-   RespReason     OK\n", "-   RespReason     OK\n*   << Req\nmore junk\n");
    let (out, watched) = shown(&broken);
    assert!(out.starts_with(SHOWN), "{out}");
    assert_eq!(watched.counts.unread, 4);
}

#[test]
fn a_capture_that_is_cut_counts_what_is_missing() {
    let cut = &GROUPED[..GROUPED.find("-   RespStatus").unwrap()];
    let (out, watched) = shown(cut);
    assert_eq!(out, "\n\nTotal number of requests: 0\n\n");
    assert_eq!(watched.counts.cut, 1);
}

#[test]
fn a_capture_that_goes_on_behind_a_cut_shows_only_what_is_whole() {
    let cut = &GROUPED[..GROUPED.find("-   RespStatus").unwrap()];
    let (out, watched) = shown(&format!("{GROUPED}{cut}{}", GROUPED.replace(">> 2 ", ">> 8 ")));
    assert_eq!(out.matches(SHOWN).count(), 2, "{out}");
    assert_eq!((watched.counts.requests, watched.counts.cut), (2, 1));
}

#[test]
fn a_query_for_a_fetch_finds_its_request() {
    let query = |text: &str| Query::parse(text, crate::QueryOptions::default()).unwrap();
    for (text, is_found) in [
        ("BerespStatus >= 500", true),
        ("{2}BerespStatus == 503 and {1}RespStatus == 200", true),
        ("{1}BerespStatus == 503 and Bereq*", false),
        ("vxid == 3 and BereqURL", true),
    ] {
        for source in [GROUPED.to_owned(), raw()] {
            let options = WatchOptions { query: Some(query(text)), ..WatchOptions::default() };
            let (out, _) = shown_with(&source, options);
            assert_eq!(out.starts_with(SHOWN), is_found, "{text}");
        }
    }
}

#[test]
fn a_request_whose_fetch_never_comes_is_shown_in_the_end() {
    let only = &GROUPED[GROUPED.find("*   << Request").unwrap()..];
    let options = WatchOptions { grouping: Some(Grouping::Request), ..WatchOptions::default() };
    let (out, watched) = shown_with(only, options);
    assert!(out.starts_with(SHOWN));
    assert_eq!(watched.counts.partial_groups, 1);
}

/// Written by `"%5u %-12s %c %.*s\n"`.
const ORDERED: &str = "    0 CLI          - Rd ping
   11 SessionOpen  c 127.0.0.1 58912 0.0.0.0:8080
   11 ReqStart     c 127.0.0.1 58912 595005213
   11 RxRequest    c GET
   11 RxURL        c /
   11 RxProtocol   c HTTP/1.1
   11 RxHeader     c Host: localhost:8080
   11 VCL_call     c recv lookup
   11 VCL_call     c hash hash
   11 Hit          c 933975905
   11 VCL_call     c hit deliver
   11 VCL_call     c deliver deliver
   11 TxProtocol   c HTTP/1.1
   11 TxStatus     c 200
   11 TxResponse   c OK
   11 TxHeader     c Age: 267
   11 Length       c 5
   11 ReqEnd       c 595005213 1365603497.937000000 1365603497.937088000 2.2056311 0.000056 0.000032

   12 BackendXID   b 12 595005213
";

const SHOWN_ORDERED: &str = "      127.0.0.1 => GET / HTTP/1.1 HIT
                <= 200 OK                                                           0.088 ms
";

fn unordered(text: &str) -> String {
    let split = |line: &str| match line.split_once(" VCL_call     c ") {
        Some((fd, call)) => {
            let (call, returned) = call.split_once(' ').unwrap();
            format!("{fd} VCL_call     c {call}\n{fd} VCL_return   c {returned}\n")
        }
        None => format!("{line}\n"),
    };
    text.lines().map(split).collect()
}

#[test]
fn logs_of_3_0_are_read_ordered_and_raw() {
    for text in [ORDERED.to_owned(), unordered(ORDERED)] {
        let (out, watched) = shown(&text);
        assert!(out.starts_with(SHOWN_ORDERED), "{out}");
        assert_eq!((watched.counts.requests, watched.counts.to_string().as_str()), (1, ""));
    }
}

#[test]
fn logs_of_3_0_may_interleave_and_be_interrupted() {
    let other = ORDERED.replace("   11 ", "   22 ").replace("/\n", "/other\n");
    let mixed: String =
        ORDERED.lines().zip(other.lines()).map(|(one, two)| format!("{one}\n{two}\n")).collect();
    let (out, watched) = shown(&mixed);
    assert!(out.starts_with(SHOWN_ORDERED), "{out}");
    assert!(out.contains("GET /other HTTP/1.1 HIT"), "{out}");
    assert_eq!(watched.counts.requests, 2);
    let (_, watched) = shown(&ORDERED.replace("   11 Length       c 5", "   11 Interrupted  c "));
    assert_eq!((watched.counts.requests, watched.counts.cut), (0, 1));
}

#[test]
fn a_hit_that_vcl_passes_is_a_miss_up_to_3_0_as_the_label_says() {
    let passed = ORDERED.replace("hit deliver", "hit pass");
    for (assignment, is_shown) in [("only_hits=1", false), ("only_misses=1", true)] {
        for text in [passed.clone(), unordered(&passed)] {
            let mut vlogdump = crate::VlogdumpOptions::default();
            vlogdump.assign(assignment).unwrap();
            let filter = vlogdump.filter().unwrap();
            let (out, _) = shown_with(&text, WatchOptions { filter, ..WatchOptions::default() });
            assert_eq!(out.contains("GET / HTTP/1.1 MISS"), is_shown, "{assignment}");
        }
    }
}

#[test]
fn memory_is_bounded_whatever_never_ends() {
    let mut text = String::new();
    for vxid in 1..5000 {
        text += &format!("{vxid:>10} Begin          c req 1 rxreq\n");
        text += &format!("{vxid:>10} ReqURL         c /{}\n", "x".repeat(1000));
    }
    let limits = WatchLimits { incomplete_max: 50, ..WatchLimits::default() };
    let (_, watched) = shown_with(&text, WatchOptions { limits, ..WatchOptions::default() });
    assert_eq!((watched.counts.over_limit, watched.counts.cut), (4949, 50));
}
