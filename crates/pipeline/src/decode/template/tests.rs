//! Formats of nginx, and lines as nginx writes them.

use std::sync::Arc;

use super::LogTemplate;
use crate::decode::escape::Escape;
use crate::decode::tests::fields;
use crate::decode::{Decoder, Format, LineFormat};

fn decoder(format: &str, escape: Escape) -> Decoder {
    let template = LogTemplate::compile(format, escape).unwrap();
    Decoder::new(&Format::from(LineFormat::Template(Arc::new(template))), Arc::new([]))
}

const MAIN: &str = "$remote_addr - $remote_user [$time_local] \"$request\" $status \
                    $body_bytes_sent \"$http_referer\" \"$http_user_agent\" \
                    \"$http_x_forwarded_for\" rt=$request_time id=$request_id \
                    up=$upstream_cache_status c=$cookie_userId";
const LINE: &str = "1.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"GET /a?id=%37 HTTP/2.0\" 200 12 \
                    \"-\" \"q\\x22q \\\" [x]\" \"9.9.9.9\" rt=0.042 id=ab12 up=EXPIRED c=u7";

#[test]
fn reads_the_variables_of_a_log_format() {
    let names = [
        "time",
        "client_ip",
        "user",
        "method",
        "path",
        "query.id",
        "version",
        "status",
        "bytes_out",
        "header.user-agent",
        "header.x-forwarded-for",
        "total",
        "id",
        "cache",
        "var.cookie_userId",
    ];
    let seen = fields(&mut decoder(MAIN, Escape::Log), format!("{LINE}\n").as_bytes(), &names);
    let expected = [
        "1795233252000000",
        "1.2.3.4",
        "-",
        "GET",
        "/a",
        "7",
        "2.0",
        "200",
        "12",
        "q\"q \" [x]",
        "9.9.9.9",
        "42000",
        "ab12",
        "miss",
        "u7",
    ];
    assert_eq!(seen, [Ok(expected.map(str::to_owned).to_vec())]);
}

#[test]
fn reads_a_json_format_as_nginx_escapes_it() {
    let format = r#"{"t":$msec,"uri":"$request_uri","ua":"$http_user_agent","q":"$arg_q"}"#;
    let line = br#"{"t":1795233252.007,"uri":"/\u0001\"x","ua":"","q":"a%20b"}"#;
    let names = ["time", "path", "header.user-agent", "query.q"];
    let mut decoder = decoder(format, Escape::Json);
    let seen = fields(&mut decoder, &[line, &b"\n"[..]].concat(), &names);
    let expected = ["1795233252007000", "/\u{1}\"x", "-", "a b"];
    assert_eq!(seen, [Ok(expected.map(str::to_owned).to_vec())]);
}

#[test]
fn refuses_torn_and_glued_lines() {
    for cut in 0..LINE.len() - "u7".len() {
        let text = format!("{}\n{}{LINE}\n", &LINE[..cut], &LINE[..cut]);
        let seen = fields(&mut decoder(MAIN, Escape::Log), text.as_bytes(), &["path"]);
        assert!(seen[0].is_err(), "{text}");
        // An address that begins twice is one to a format that knows no addresses.
        assert!(cut < 8 || seen[1].is_err(), "{text}");
    }
}

#[test]
fn refuses_formats_that_cannot_be_read_back() {
    let refused = |format| LogTemplate::compile(format, Escape::Log).unwrap_err();
    assert!(refused("$time_local$status").contains("nothing stands between"));
    assert!(refused("$status $request").contains("no time"));
    assert!(refused("$ $time_local").contains("names no variable"));
    assert!(LogTemplate::compile("${time_local}x$status", Escape::None).is_ok());
}
