//! Claims about addresses of servers: what is read, refused and never shown.

use super::*;

fn parse(text: &str) -> Result<ServerAddress, UrlError> {
    let (scheme, rest) = text.split_once(':').unwrap();
    ServerAddress::parse(scheme, rest, 5432, Path::new("/etc/tidegate"))
}

#[test]
fn reads_every_part() {
    let address = parse(
        "postgres://us%40er:p%3Aw%2F@[::1]:6000/my%20db?sslmode=verify-full&sslrootcert=ca.pem\
         &connect_timeout=3&statement_timeout=500ms",
    );
    let expected = ServerAddress {
        host: "::1".into(),
        port: 6000,
        user: "us@er".into(),
        password: Some("p:w/".into()),
        database: "my db".into(),
        encryption: Encryption::VerifyFull,
        root_certificates: Some("/etc/tidegate/ca.pem".into()),
        connect_timeout: Duration::from_secs(3),
        statement_timeout: Duration::from_millis(500),
    };
    assert_eq!(address.unwrap(), expected);
}

#[test]
fn fills_in_what_is_usual() {
    let address = parse("postgres://me@db/events").unwrap();
    assert_eq!((address.port, address.password.as_deref()), (5432, None));
    assert_eq!(address.encryption, Encryption::Prefer);
    assert_eq!(address.to_string(), "db:5432/events");
}

#[test]
fn reads_every_way_to_encrypt_and_a_bare_number_as_seconds() {
    for (mode, expected) in [
        ("disable", Encryption::Disable),
        ("prefer", Encryption::Prefer),
        ("require", Encryption::Require),
        ("verify-full", Encryption::VerifyFull),
    ] {
        let address = parse(&format!("postgres://me@db/events?sslmode={mode}&")).unwrap();
        assert_eq!(address.encryption, expected);
    }
    for (text, expected) in [("7", 7), ("2m", 120)] {
        let address = parse(&format!("postgres://me@db/events?statement_timeout={text}")).unwrap();
        assert_eq!(address.statement_timeout, Duration::from_secs(expected));
    }
    assert!(parse("postgres://me@db/events?statement_timeout=").is_err());
}

#[test]
fn names_what_is_wrong_without_the_password() {
    for (text, expected) in [
        ("postgres:db", "`postgres:…` names no host"),
        ("postgres://u:secret@/db", "`postgres://…@/db` names no host"),
        ("postgres://db/events", "`postgres://db/events` names no user"),
        ("postgres://u:secret@h", "`postgres://…@h` names no database"),
        ("postgres://u:secret@h:x/db", "`postgres://…@h:x/db`: `x` is no port"),
        ("postgres://u:secret@h:0/db", "`postgres://…@h:0/db`: `0` is no port"),
        ("postgres://u:%ff@h/db", "`postgres://…@h/db`: it is not UTF-8 when decoded"),
        ("postgres://u:se/cret@h:x/db", "`postgres://…@h:x/db`: `x` is no port"),
        (
            "postgres://u:se@cret@h/db?sslmod=require",
            "`postgres://…@h/db?…`: `sslmod` is no parameter; there are `sslmode`, \
             `sslrootcert`, `connect_timeout`, `statement_timeout`",
        ),
        (
            "postgres://u:secret@h/db?sslmode=on",
            "`postgres://…@h/db?…`: `sslmode` is `disable`, `prefer`, `require` or \
             `verify-full`, not `on`",
        ),
        (
            "postgres://u@h/db?password=secret",
            "`postgres://…@h/db?…`: `password` is no parameter; there are `sslmode`, \
             `sslrootcert`, `connect_timeout`, `statement_timeout`",
        ),
        (
            "postgres://u:secret@h/db?connect_timeout=0",
            "`postgres://…@h/db?…`: `connect_timeout`: is 0; write a length of time",
        ),
    ] {
        assert_eq!(parse(text).unwrap_err().to_string(), expected);
    }
}

#[test]
fn shows_no_password() {
    let address = parse("postgres://u:secret@h/db").unwrap();
    assert!(!format!("{address:?} {address}").contains("secret"));
    let address = parse("postgres://u:secret@[::1]/db").unwrap();
    assert_eq!(address.to_string(), "[::1]:5432/db");
    assert_eq!(format!("{address:?}"), "Address([::1]:5432/db)");
}
