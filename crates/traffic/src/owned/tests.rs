//! Claims about exchanges that are kept.

use std::borrow::Cow;

use exchange::{Filter, decode};

use super::{OwnedExchange, TEXT_BYTES_MAX};
use crate::access;
use crate::guess::InputFormat;
use crate::view::{Headers, Side, View};

const LINE: &str = concat!(
    r#"{"time":"2026-11-21T03:54:12.123456Z","id":"4bf92f3577b34da6a3ce929d0e0e4736","#,
    r#""method":"GET","scheme":"https","host":"news.example:8443","path":"/1/a","query":"b=1","#,
    r#""version":"1.1","status":200,"bytes_in":0,"bytes_out":1840,"client_ip":"10.1.2.0","#,
    r#""user":"u1","route":"/1/{*rest}","decision":"personalised","#,
    r#""decision_detail":"no-affinity","cache":"miss","upstream":"model:news","#,
    r#""ranked_by":"00000000000000000000000000000007","phases":{"route":1,"fetch":900},"#,
    r#""total_us":1001,"impression":{"model":"news","version":"3","propensity":0.25,"#,
    r#""items":["17"]}}"#
);

#[test]
fn filters_say_the_same_of_an_exchange_and_of_what_is_kept_of_it() {
    let exchange = decode(LINE.as_bytes()).unwrap();
    let headers = access::listed(&exchange, LINE.as_bytes());
    let view = access::view(&exchange, &headers, InputFormat::Tidegate);
    let kept = OwnedExchange::new(&view, false);
    assert!(!kept.is_cut());
    for field in [
        "id == \"4bf92f3577b34da6a3ce929d0e0e4736\"",
        "method == \"GET\" and scheme == \"https\" and host == \"news.example:8443\"",
        "path == \"/1/a\" and query.b == \"1\" and version == \"1.1\" and status == 200",
        "bytes_out == 1840 and client_ip == \"10.1.2.0\" and user == \"u1\"",
        "route == \"/1/{*rest}\" and decision == \"personalised\"",
        "decision_detail == \"no-affinity\" and cache == \"miss\" and upstream == \"model:news\"",
        "phase.fetch > 0.5ms and total > 1ms",
        "model == \"news\" and model_version == \"3\"",
    ] {
        let filter = Filter::parse(field).unwrap_or_else(|error| panic!("{field}: {error}"));
        assert!(filter.matches(&view) && filter.matches(&kept.view()), "{field}");
    }
}

#[test]
fn texts_are_bounded_and_secrets_are_not_kept() {
    let long = vec![b'x'; 100_000];
    let headers: Vec<_> = (0..500)
        .map(|_| (Cow::Borrowed(&b"Cookie"[..]), Cow::Borrowed(&b"id=secret"[..])))
        .collect();
    let view = View {
        method: Cow::Borrowed(&long),
        url: Cow::Borrowed(&long),
        client: Cow::Borrowed(&long),
        headers: Headers::Listed { request: &headers, response: &headers },
        ..View::default()
    };
    let kept = OwnedExchange::new(&view, false);
    assert!(kept.is_cut());
    let shown = kept.view();
    let mut bytes = shown.method.len() + shown.url.len() + shown.client.len();
    for side in [Side::Request, Side::Response] {
        shown.each_header(side, |name, value| {
            assert!(!value.ends_with(b"secret"));
            bytes += name.len() + value.len();
        });
    }
    assert!(bytes <= TEXT_BYTES_MAX, "{bytes}");
    let shown = OwnedExchange::new(&View { headers: view.headers, ..View::default() }, true);
    assert_eq!(shown.view().request_header(b"cookie"), Some(&b"id=secret"[..]));
}
