//! Claims about commands and requests that are made again.

use std::borrow::Cow;
use std::process::Command;

use super::{ReplayRequest, command};
use crate::owned::OwnedExchange;
use crate::view::{Headers, View};

fn exchange(method: &str, url: &[u8], headers: &[(&str, &[u8])]) -> OwnedExchange {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (Cow::Borrowed(name.as_bytes()), Cow::Borrowed(*value)))
        .collect();
    let view = View {
        method: Cow::Borrowed(method.as_bytes()),
        url: Cow::Borrowed(url),
        headers: Headers::Listed { request: &headers, response: &[] },
        ..View::default()
    };
    OwnedExchange::new(&view, true)
}

#[test]
fn a_shell_hands_curl_what_the_client_sent_and_runs_nothing() {
    let headers: [(&str, &[u8]); 6] = [
        ("Host", b"a:8080"),
        ("X-Quote", b"'; touch /tmp/owned; echo $(id) `id` !! \\"),
        ("X-Line", b"a\nEvil: 1"),
        ("@file", b"x"),
        ("Content-Length", b"7"),
        ("X-Bidi", "\u{202e}".as_bytes()),
    ];
    let hostile = exchange("PUT", b"/a'$(id)\x1b\n\xff#[1-9]?q=`id`", &headers);
    let text = command(&hostile, true).unwrap();
    assert!(text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()), "{text}");
    let script = format!("curl() {{ printf '%s\\n' \"$@\"; }}; {text}");
    let output = Command::new("sh").arg("-c").arg(script).output().unwrap();
    let words = String::from_utf8(output.stdout).unwrap();
    let wanted = "-i\n--globoff\n--path-as-is\n-X\nPUT\n-H\n\
        X-Quote: '; touch /tmp/owned; echo $(id) `id` !! \\\n\
        http://a:8080/a'$(id)%1B%0A%FF%23[1-9]?q=`id`\n";
    assert_eq!(words, wanted);
}

#[test]
fn what_cannot_be_asked_again_is_refused() {
    let host: (&str, &[u8]) = ("Host", b"a");
    let refused = |exchange: &OwnedExchange| command(exchange, true).unwrap_err();
    assert_eq!(refused(&exchange("GE T", b"/", &[host])), "its method is none");
    assert_eq!(refused(&exchange("-K", b"/", &[host])), "its method is none");
    assert_eq!(refused(&exchange("GET", b"*", &[host])), "its URL is no path");
    assert_eq!(refused(&exchange("GET", b"/", &[("Host", b"a/@b")])), "its host is not known");
    let long = vec![b'a'; 5000];
    let cut = refused(&exchange("GET", &[b"/", &long[..]].concat(), &[host]));
    assert_eq!(cut, "its texts were too long to be kept whole");
}

#[test]
fn a_replay_has_no_line_that_the_client_smuggled_in() {
    let headers: [(&str, &[u8]); 4] = [
        ("Host", b"a\r\nEvil: 1"),
        ("X-Fine", b"yes"),
        ("X-Evil", b"a\r\n\r\nGET / HTTP/1.1"),
        ("Transfer-Encoding", b"chunked"),
    ];
    let hostile = exchange("GET", b"/a b\r\nEvil: 1", &headers);
    let request = ReplayRequest::new((7, &hostile), "[::1]:80", true).unwrap();
    assert_eq!(
        String::from_utf8(request.bytes.clone()).unwrap(),
        "GET /a%20b%0D%0AEvil:%201 HTTP/1.1\r\nHost: [::1]:80\r\nX-Fine: yes\r\n\
         Connection: close\r\n\r\n"
    );
    assert!(request.is_safe());
    for address in ["a", "a:0", ":80", "a b:80", "a:99999", "a:80\r\nx:1"] {
        assert!(ReplayRequest::new((7, &hostile), address, true).is_err(), "{address}");
    }
}
