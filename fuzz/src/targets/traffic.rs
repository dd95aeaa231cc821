//! Logs of traffic, of every format: nothing that is shown steers a terminal or tells a secret.
//!
//! The first line may be a query; the log may be cut anywhere. However it comes in pieces, the same
//! is shown.

use std::io::Read;
use std::ops::ControlFlow;

use traffic::{
    Grouping, InputFormat, OutputFormat, OutputOptions, Query, QueryOptions, WatchError,
    WatchOptions, watch,
};

pub(super) const TOKENS: &[&str] = &[
    "\n",
    "*   << Request  >> 2         \n",
    "**  << BeReq    >> 3\n",
    "*4* << Session  >> 18446744073709551615\n",
    "-   Begin          req 1 rxreq\n",
    "--  Link           bereq 3 fetch\n",
    "-   ReqURL         /\n",
    "-   ReqHeader      Cookie: s3cr3t\n",
    "-   ReqUnset       Cookie: s3cr3t\n",
    "-   VCL_call       HIT\n",
    "-   VCL_return     restart\n",
    "-   Timestamp      Resp: 1473174473.456773 0.001251 0.000108\n",
    "-   RespStatus     200\n",
    "-   End            \n",
    "         2 Begin          c req 1 rxreq\n",
    "         2 ReqURL         c /\n",
    "         2 End            c \n",
    "   11 ReqStart     c 127.0.0.1 58912 595005213\n",
    "   11 VCL_call     c recv lookup\n",
    "   11 ReqEnd       c 595005213 1.0 2.0 3.0 4.0 5.0\n",
    "{\"req\":{\"url\":\"/\",\"headers\":{\"cookie\":\"s3cr3t\"}},\"side\":\"client\",\"id\":36}\n",
    "{\"time\":\"2026-11-21T07:00:00.000001Z\",",
    "1.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"GET /a?b=1 HTTP/1.1\" 200 12\n",
    "time:2026-11-21T07:00:00Z\turi:/\tstatus:200\n",
    "RespStatus >= 500 or {2+}Bere*:a[2] ~ 'x'\n",
    "not Hit and vxid == 2\n",
];

const GROUPINGS: [Grouping; 4] =
    [Grouping::Vxid, Grouping::Request, Grouping::Session, Grouping::Raw];

/// Gives the input a few bytes at a time.
struct Pieces<'a>(&'a [u8]);

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let length = self.0.len().min(7).min(out.len());
        out[..length].copy_from_slice(&self.0[..length]);
        self.0 = &self.0[length..];
        Ok(length)
    }
}

pub(super) fn run(input: &[u8]) {
    let first = input.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let query = std::str::from_utf8(first).ok();
    let query = query.and_then(|text| Query::parse(text, QueryOptions::default()).ok());
    let log = if query.is_some() { &input[(first.len() + 1).min(input.len())..] } else { input };
    let number = input.len();
    let options = WatchOptions {
        input_format: InputFormat::ALL.get(number % 7).copied(),
        grouping: GROUPINGS.get(number % 5).copied(),
        query,
        output: OutputOptions {
            format: [OutputFormat::Text, OutputFormat::Ndjson, OutputFormat::Har][number % 3],
            request_headers: true,
            response_headers: true,
            ..OutputOptions::default()
        },
        ..WatchOptions::default()
    };
    let whole = shown(log, options.clone());
    let is_steering = |byte: &u8| byte.is_ascii_control() && *byte != b'\n';
    assert!(!whole.0.iter().any(is_steering), "a control character is shown");
    assert!(whole.0.split(|byte| *byte == b'\n').all(is_redacted), "a secret is shown");
    // Without a format said beforehand, more of the log may say another one.
    if options.input_format.is_some() {
        assert!(whole == shown(Pieces(log), options), "pieces show something else");
    }
}

/// Whether a line of text is none with a cookie, or hides it.
fn is_redacted(line: &[u8]) -> bool {
    const BEGIN: &[u8] = b"        req.http.cookie = ";
    let is_cookie = line.get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN));
    !is_cookie || &line[BEGIN.len()..] == b"[redacted]"
}

/// What is shown, and whether the log could be read.
fn shown(log: impl Read, options: WatchOptions) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    let watched = watch(log, &mut out, options, |_| ControlFlow::Continue(()));
    let is_of_program = matches!(watched, Err(WatchError::Read(_) | WatchError::Write(_)));
    assert!(!is_of_program, "{watched:?}");
    (out, watched.is_ok())
}
