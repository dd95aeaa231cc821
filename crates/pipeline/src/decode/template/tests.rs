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

#[test]
fn a_refusal_says_whether_the_line_ends_or_is_another() {
    let format = "$remote_addr [$time_local] a  b $status end";
    let line = "1.2.3.4 [21/Nov/2026:03:54:12 +0000] a  b 200 end";
    let read = |line: &str| {
        let text = format!("{line}\n");
        fields(&mut decoder(format, Escape::Log), text.as_bytes(), &["status"]).remove(0)
    };
    assert_eq!(read(line), Ok(vec!["200".to_owned()]));
    assert_eq!(read(&line.replace("a  b", "a b")), Ok(vec!["200".to_owned()]), "one or more");
    assert_eq!(read(&line.replace("a  b", "a     b")), Ok(vec!["200".to_owned()]));
    let what = "what the format has here";
    for (line, place, reason) in [
        (line.replace(" a ", " x "), "byte 37", what),
        (line.replace(" a  b", " a  x"), "byte 40", what),
        (line.replace("a  b", "ab"), "byte 38", what),
        (line.replace("200 end", "200 exd"), "byte 49", "the line ends inside a value"),
        (line.replace("200 end", "200 e"), "byte 47", "the line ends inside a value"),
        (line.replace(" a  b 200 end", ""), "byte 36", "the line ends inside a value"),
        (format!("{line} more"), "byte 49", "the end of the line"),
        (line.replace("200", "2 0"), "byte 42", "a value without spaces"),
    ] {
        let error = read(&line).unwrap_err();
        assert!(error.contains(place) && error.ends_with(reason), "{error} of {line}");
    }
}

#[test]
fn what_a_template_is_made_of_is_told_to_those_who_read_lines_again() {
    let mut template = LogTemplate::compile("[$time_local] ${status}x", Escape::Log).unwrap();
    let parts: Vec<_> = template.parts().collect();
    let expected = [(&b"["[..], Some("time_local")), (b"] ", Some("status")), (b"x", None)];
    assert_eq!(parts, expected);
    assert_eq!(template.tail(), None);
    template.allow_tail("headers");
    assert_eq!(template.tail(), Some("headers"));
}
