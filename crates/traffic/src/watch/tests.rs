//! Claims about `watch`.

use std::io::{self, Write};
use std::ops::ControlFlow;

use exchange::Filter;
use stdx::Random;

use super::{WatchError, WatchOptions, Watched, watch};
use crate::{Grouping, InputFormat, OutputFormat, OutputOptions, Query, QueryOptions};

/// What is shown of a text.
pub(crate) fn shown(text: &str) -> (String, Watched) {
    shown_with(text, WatchOptions::default())
}

/// What is shown of a text with these options.
pub(crate) fn shown_with(text: &str, options: WatchOptions) -> (String, Watched) {
    let mut out = Vec::new();
    let watched = watch(text.as_bytes(), &mut out, options, |_| ControlFlow::Continue(()));
    (String::from_utf8(out).unwrap(), watched.unwrap())
}

fn in_form(text: &str, format: OutputFormat) -> String {
    let output = OutputOptions { format, ..OutputOptions::default() };
    shown_with(text, WatchOptions { output, ..WatchOptions::default() }).0
}

const COMBINED: &str = "127.0.0.1 - ann [21/Nov/2026:03:54:12 +0000] \"GET /a?b=1 HTTP/1.1\" 200 5 \
    \"-\" \"curl/7.88.1\"\n";

#[test]
fn an_access_log_shows_what_it_has_and_null_for_the_rest() {
    let line = in_form(COMBINED, OutputFormat::Ndjson);
    assert_eq!(
        line,
        concat!(
            r#"{"time":"2026-11-21T03:54:12.000000Z","method":"GET","host":null,"path":"/a","#,
            r#""status":200,"cache":null,"decision":null,"bytes_out":5,"total_us":null,"#,
            r#""query":"b=1","protocol":"HTTP/1.1","reason":"OK","client_ip":"127.0.0.1"}"#,
            "\n"
        )
    );
    let text = in_form(COMBINED, OutputFormat::Text);
    assert!(text.starts_with("      127.0.0.1 => GET /a?b=1 HTTP/1.1 -\n"), "{text}");
    assert!(text.contains("200 OK"), "{text}");
}

#[test]
fn ltsv_has_a_time_where_it_says_one() {
    let line = "time:2026-11-21T03:54:12Z\turi:/\tstatus:404\tvhost:a\treqtime:0.25\n";
    let out = in_form(line, OutputFormat::Ndjson);
    assert!(out.contains("\"host\":\"a\"") && out.contains("\"total_us\":250000"), "{out}");
}

#[test]
fn a_filter_and_a_query_ask_the_same_of_an_access_log() {
    let text = COMBINED.repeat(2) + &COMBINED.replace(" 200 ", " 503 ");
    let query = Query::parse("RespStatus >= 500", QueryOptions::default()).unwrap();
    let by_query = WatchOptions { query: Some(query), ..WatchOptions::default() };
    let filter = Filter::parse("status >= 500").unwrap();
    let by_filter = WatchOptions { filter: Some(filter), ..WatchOptions::default() };
    for options in [by_query, by_filter] {
        let (_, watched) = shown_with(&text, options);
        assert_eq!((watched.counts.requests, watched.counts.shown), (3, 1));
    }
}

#[test]
fn a_query_that_a_log_cannot_answer_is_refused() {
    let query = Query::parse("VCL_call eq HIT", QueryOptions::default()).unwrap();
    let options = WatchOptions { query: Some(query), ..WatchOptions::default() };
    let watched = watch(COMBINED.as_bytes(), Vec::new(), options, |_| ControlFlow::Continue(()));
    assert!(matches!(watched, Err(WatchError::Query(_))), "{watched:?}");
}

#[test]
fn lines_of_no_format_are_an_error_with_a_way_out() {
    let watched =
        watch(&b"hello\n"[..], Vec::new(), WatchOptions::default(), |_| ControlFlow::Continue(()));
    let error = watched.unwrap_err().to_string();
    assert!(error.contains("`--input-format` takes tidegate, combined"), "{error}");
}

#[test]
fn an_empty_source_shows_no_request() {
    assert_eq!(shown("").0, "\n\nTotal number of requests: 0\n\n");
}

#[test]
fn a_reader_that_leaves_is_an_error_of_writing() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let watched =
        watch(COMBINED.as_bytes(), Gone, WatchOptions::default(), |_| ControlFlow::Continue(()));
    assert!(matches!(watched, Err(WatchError::Write(_))));
}

#[test]
fn a_rate_keeps_the_rest_back() {
    let limits = crate::WatchLimits { rate: Some("2/s".parse().unwrap()), ..Default::default() };
    let options = WatchOptions { limits, ..WatchOptions::default() };
    let (_, watched) = shown_with(&COMBINED.repeat(5), options);
    assert_eq!((watched.counts.shown, watched.counts.over_rate), (2, 3));
}

/// Pieces of every format, from which broken sources are made.
const PIECES: [&str; 30] = [
    "*   << Request  >> 2         \n",
    "**  << BeReq    >> 3\n",
    "*4* << Session  >> 18446744073709551615\n",
    "-   Begin          req 1 rxreq\n",
    "-   Begin          bereq 2 fetch\n",
    "--  Link           bereq 3 fetch\n",
    "-   ReqURL         /\u{1b}[2J\n",
    "-   ReqHeader      Cookie: secret\n",
    "-   VCL_call       HIT\n",
    "-   Timestamp      Resp: 1473174473.456773 0.001251 0.000108\n",
    "-   RespStatus     99999\n",
    "-   End            \n",
    "\n",
    "         2 Begin          c req 1 rxreq\n",
    "         2 ReqURL         c /\n",
    "         2 End            c \n",
    "   11 ReqStart     c 127.0.0.1 58912 595005213\n",
    "   11 VCL_call     c recv lookup\n",
    "   11 ReqEnd       c 1 2 3 4 5\n",
    "   11 Interrupted  c \n",
    "{\"req\":{\"url\":\"/\"},\"side\":\"client\",\"id\":36}\n",
    "{\"time\":\"2026-11-21T03:54:12Z\"",
    "127.0.0.1 - - [21/Nov/2026:03:54:12 +0000] \"GET / HTTP/1.1\" 200 5\n",
    "time:2026-11-21T03:54:12Z\turi:/\tstatus:200\n",
    "*",
    "-",
    " ",
    "9",
    "\n",
    "<< >> <<",
];

#[test]
fn no_bytes_make_it_fail_and_no_form_shows_control_characters_or_secrets() {
    let mut random = Random::new(11);
    let mut below = |bound: usize| (random.bits() % bound as u64) as usize;
    let query = Query::parse("not ReqURL ~ zzz or {2+}*:a[2] != 3", QueryOptions::default());
    for round in 0..3000 {
        let mut text = Vec::new();
        for _ in 0..below(60) {
            match below(12) {
                0 => text.push(below(256) as u8),
                1 => drop(text.pop()),
                _ => text.extend_from_slice(PIECES[below(PIECES.len())].as_bytes()),
            }
        }
        let format = [OutputFormat::Text, OutputFormat::Ndjson, OutputFormat::Har][round % 3];
        let grouping = [Grouping::Vxid, Grouping::Request, Grouping::Session][below(3)];
        let options = WatchOptions {
            input_format: Some(InputFormat::ALL[below(6)]).filter(|_| below(3) > 0),
            grouping: Some(grouping),
            query: query.clone().ok().filter(|_| below(4) == 0),
            output: OutputOptions {
                format,
                request_headers: true,
                response_headers: true,
                ..OutputOptions::default()
            },
            ..WatchOptions::default()
        };
        let mut out = Vec::new();
        let watched = watch(&*text, &mut out, options, |_| ControlFlow::Continue(()));
        assert!(!matches!(watched, Err(WatchError::Read(_) | WatchError::Write(_))));
        let is_hostile = |byte: &u8| byte.is_ascii_control() && *byte != b'\n';
        assert!(!out.iter().any(is_hostile), "{}", String::from_utf8_lossy(&out));
        assert!(memchr::memmem::find(&out, b"= secret").is_none());
    }
}
