//! Claims about what is taken for a target.

use super::{Endpoint, ProbeTarget, Url};

#[track_caller]
fn check(text: &str, shown: &str) -> ProbeTarget {
    let target: ProbeTarget = text.parse().unwrap();
    assert_eq!(target.to_string(), shown);
    target
}

#[track_caller]
fn refused(text: &str, reason: &str) {
    let error = text.parse::<ProbeTarget>().unwrap_err().to_string();
    assert!(error.contains(reason) && error.contains(&format!("`{text}`")), "{error}");
}

#[test]
fn addresses_of_http_are_taken_apart() {
    let target = check("http://127.0.0.1:8080/a?key={n}#x", "http://127.0.0.1:8080/a?key={n}");
    let place = Endpoint { host: "127.0.0.1".to_owned(), port: 8080, ..Endpoint::default() };
    let authority = "127.0.0.1:8080".to_owned();
    let url = Url { is_tls: false, place, authority, path: "/a?key={n}".to_owned() };
    assert_eq!(target, ProbeTarget::Http(url));
    let ProbeTarget::Http(url) = check("HTTPS://example.org", "https://example.org/") else {
        panic!()
    };
    assert_eq!((url.is_tls, url.place.port), (true, 443));
    let ProbeTarget::Http(url) = check("http://[::1]?q", "http://[::1]/?q") else { panic!() };
    assert_eq!((url.place.host.as_str(), url.place.port), ("::1", 80));
}

#[test]
fn other_schemes_say_where_they_go() {
    check("tcp://[::1]:6379", "tcp://[::1]:6379");
    check("tcp:db:5432", "tcp://db:5432");
    check("icmp:[::1]", "icmp:::1");
    check("dns:example.org", "dns:example.org");
    check("dns:{n}.example.org@9.9.9.9?type=aaaa", "dns:{n}.example.org@9.9.9.9:53?type=AAAA");
    check("dns:a@::1", "dns:a@[::1]:53");
    check("dns:a@[::1]:5353", "dns:a@[::1]:5353");
}

#[test]
fn a_command_is_split_as_a_shell_does() {
    let target = check("exec:check_http -H 'a b' -p 80", "check_http -H 'a b' -p 80");
    let ProbeTarget::Command(words) = target else { panic!() };
    assert_eq!(words, ["check_http", "-H", "a b", "-p", "80"]);
}

#[test]
fn what_cannot_be_called_is_refused_with_what_to_write() {
    refused("example.org", "write http://");
    refused("example.org:80/a", "is http://example.org:80/a meant?");
    refused("ftp://example.org", "write http://");
    refused("http:/example.org", "two slashes");
    refused("http://", "host");
    refused("http://a:b@example.org/", "--header");
    refused("http://example.org/a b", "%XX");
    refused("http://example.org:http/", "number from 1 to 65535");
    refused("http://::1/", "brackets");
    refused("tcp://example.org", "port");
    refused("dns:", "no name");
    refused("dns:example.org?type=MX", "name a server");
    refused("exec:'a", "quotation mark");
    refused("exec:", "no command");
    refused("icmp:", "host");
    assert!(ProbeTarget::command(&[]).is_err());
}
