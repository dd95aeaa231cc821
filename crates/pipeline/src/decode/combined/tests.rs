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

#[test]
fn before_the_time_stand_an_address_an_identity_and_a_user() {
    let read = |head: &str| {
        let line =
            format!("{head} [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 12 \"-\" \"-\"\n");
        fields(&mut decoder("combined"), line.as_bytes(), &["client_ip", "user"]).remove(0).ok()
    };
    for (head, address, user) in [
        ("1.2.3.4 - -", "1.2.3.4", "-"),
        ("1.2.3.4 - ann", "1.2.3.4", "ann"),
        ("1.2.3.4 i ann lee", "1.2.3.4", "ann lee"),
        ("123.123.123.123 - -", "123.123.123.123", "-"),
        ("2001:db8:1234:5678::7 - -", "2001:db8:1234:5678::7", "-"),
        ("host.example.org - -", "host.example.org", "-"),
        ("h - -", "h", "-"),
        ("- - -", "-", "-"),
    ] {
        assert_eq!(read(head), Some(vec![address.to_owned(), user.to_owned()]), "{head}");
    }
    for head in [
        " - -",
        " i ann",
        "1.2.3.4 -",
        "1.2.3.4",
        "1.2.3.4  ann",
        "1.2.3.41.2.3.41.2.3.4 - -",
        "1234.123.123.123 - -",
        "1.2.3.4 - 1.2.3.4 - -",
        "1.2.3.4 - ann - -",
        "1.2.3.4 - ann -",
    ] {
        assert_eq!(read(head), None, "{head}");
    }
}

#[test]
fn the_numbers_of_a_line_are_a_status_and_a_size() {
    let read = |numbers: &str| {
        let line = format!(
            "::1 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" {numbers} \"-\" \"-\""
        );
        // With more behind it a line is read from left to right.
        [format!("{line}\n"), format!("{line} 0.1\n")].map(|line| {
            let names = ["status", "bytes_out"];
            fields(&mut decoder("combined"), line.as_bytes(), &names).remove(0).ok()
        })
    };
    for (numbers, status, bytes) in [
        ("200 12", "200", "12"),
        ("000 -", "0", "0"),
        ("404 999999999999999999", "404", "999999999999999999"),
        ("404 9223372036854775807", "404", "9223372036854775807"),
        ("404 0000000000000000001", "404", "1"),
    ] {
        let both = Some(vec![status.to_owned(), bytes.to_owned()]);
        assert_eq!(read(numbers), [both.clone(), both], "{numbers}");
    }
    for numbers in [
        "200 ",
        "200",
        "20 12",
        "2000 12",
        "2x0 12",
        "200 1x",
        "200 --",
        "200  12",
        "200 9223372036854775808",
        " 200 12",
        "200-12",
    ] {
        assert_eq!(read(numbers), [None, None], "{numbers}");
    }
}
