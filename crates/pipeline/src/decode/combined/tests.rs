//! What other servers write in their default formats.

use crate::decode::tests::{decoder, fields};

#[test]
fn reads_varnishncsa_with_its_absolute_targets() {
    let line = "10.0.0.1 - - [21/Nov/2026:03:54:12 +0000] \"GET http://shop.example:8080/a?b=1 \
                HTTP/1.1\" 200 - \"-\" \"curl/8\"\n";
    let names = ["scheme", "host", "path", "query", "bytes_out"];
    let seen = fields(&mut decoder("combined"), line.as_bytes(), &names);
    assert_eq!(seen[0].as_deref().unwrap(), ["http", "shop.example:8080", "/a", "b=1", "0"]);
}

#[test]
fn reads_apache_with_host_names_users_and_its_escapes() {
    let line = "host.example ident bob [21/Nov/2026:03:54:12 +0100] \"GET /\\\"q\\\" HTTP/1.0\" \
                304 - \"http://r/?a=[1]\" \"A\\\\B\"\n";
    let names = ["time", "client_ip", "user", "path", "header.referer", "header.user-agent"];
    let seen = fields(&mut decoder("combined"), line.as_bytes(), &names);
    let expected = ["1795229652000000", "host.example", "bob", "/\"q\"", "http://r/?a=[1]", "A\\B"];
    assert_eq!(seen[0].as_deref().unwrap(), expected);
}

#[test]
fn common_ends_after_the_bytes_and_combined_does_not() {
    let line = "1.2.3.4 - - [21/Nov/2026:03:54:12 +0000] \"GET / HTTP/1.1\" 200 12\n";
    assert!(fields(&mut decoder("common"), line.as_bytes(), &["path"])[0].is_ok());
    let torn = fields(&mut decoder("combined"), line.as_bytes(), &["path"]);
    assert!(torn[0].as_ref().unwrap_err().contains("the line ends inside a value"));
}
