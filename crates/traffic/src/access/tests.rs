//! Claims about `access`.

use super::JsonLine;
use crate::view::Side;

/// As varnishlog-json documents it, on the client's side.
const LINE: &str = r#"{"req":{"headers":{"host":"localhost:6081","via":["a","b"]},"method":"GET",
"url":"/x?y","proto":"HTTP/1.1","hdrBytes":564,"bodyBytes":0},"resp":{"headers":[{"name":"age",
"value":"3"}],"proto":"HTTP/1.0","status":"200","reason":"OK","hdrBytes":155,"bodyBytes":220},
"handling":"hit","timeline":[{"name":"Start","timestamp":1705019415.492248},
{"name":"Process","timestamp":1705019415.493248},{"name":"Resp","timestamp":1705019415.494103}],
"side":"client","id":36,"vcl":"boot","client":{"rAddr":"127.0.0.1","rPort":8082}}"#;

#[test]
fn a_line_of_varnishlog_json_is_an_exchange() {
    let read = JsonLine::read(LINE.as_bytes()).unwrap();
    let view = read.view().unwrap();
    assert_eq!((&*view.client, &*view.url), (&b"127.0.0.1"[..], &b"/x?y"[..]));
    assert_eq!((view.ids.vxid, view.status, view.handling), (Some(36), Some(200), Some("hit")));
    assert_eq!((view.times.total_us, view.times.ready_us), (Some(1855), Some(1000)));
    assert_eq!((view.bytes.bytes_out, view.host()), (Some(220), Some(&b"localhost:6081"[..])));
    let mut names = Vec::new();
    view.each_header(Side::Request, |name, _| names.push(name));
    view.each_header(Side::Response, |name, _| names.push(name));
    assert_eq!(names, [&b"host"[..], b"via", b"via", b"age"]);
}

#[test]
fn a_fetch_and_other_lines_are_none() {
    let fetch = LINE.replace("\"client\",\"id\"", "\"backend\",\"id\"");
    assert!(JsonLine::read(fetch.as_bytes()).unwrap().view().is_none());
    for text in ["", "{", "[1]", "{\"side\":"] {
        assert!(JsonLine::read(text.as_bytes()).is_none(), "{text}");
    }
}
