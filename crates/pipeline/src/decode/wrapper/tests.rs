//! Claims about lines inside others.

use super::*;

fn unwrap(wrapper: Wrapper, lines: &[&str]) -> Vec<Result<Option<String>, String>> {
    let mut pieces = OpenPieces::default();
    let one = |line: &&str| {
        let mut inside = Vec::new();
        match pieces.unwrap(wrapper, line.as_bytes(), &mut inside) {
            Ok(is_whole) => Ok(is_whole.then(|| String::from_utf8_lossy(&inside).into_owned())),
            Err(error) => Err(error.to_string()),
        }
    };
    lines.iter().map(one).collect()
}

#[test]
fn pieces_of_two_streams_are_put_together_by_stream() {
    let lines = [
        "2016-10-06T00:17:09.669794202Z stdout P a ",
        "2016-10-06T00:17:09.669794202Z stderr P x",
        "2016-10-06T00:17:10.113242941Z stdout F b",
        "2016-10-06T00:17:10.113242941Z stderr F y",
    ];
    let whole = |text: &str| Ok(Some(text.to_owned()));
    let seen = unwrap(Wrapper::Cri, &lines);
    assert_eq!(seen, [Ok(None), Ok(None), whole("a b"), whole("xy")]);
    let lines = [
        r#"{"log":"a ","stream":"stdout","time":"2019-01-01T11:11:11Z"}"#,
        r#"{"log":"b\r\n","stream":"stdout","time":"2019-01-01T11:11:11Z"}"#,
    ];
    assert_eq!(unwrap(Wrapper::Docker, &lines), [Ok(None), whole("a b")]);
}

#[test]
fn a_line_that_is_too_long_or_is_two_is_refused_and_the_next_is_read() {
    let long = format!("2016-10-06T00:17:09Z stdout P {}", "x".repeat(300 << 10));
    let last = "2016-10-06T00:17:09Z stdout F y";
    let seen = unwrap(Wrapper::Cri, &[&long, &long, last, last]);
    assert!(seen[2].is_err() && seen[3] == Ok(Some("y".to_owned())), "{:?}", seen[3]);
    let two = r#"{"log":"a\nb\n","stream":"stdout","time":"2019-01-01T11:11:11Z"}"#;
    assert!(unwrap(Wrapper::Docker, &[two])[0].is_err());
    for line in ["", "2016 stdout F x", "2016-10-06T00:17:09Z out F x", "{}", "{\"log\":1}"] {
        assert!(unwrap(Wrapper::Cri, &[line])[0].is_err(), "{line}");
        assert!(unwrap(Wrapper::Docker, &[line])[0].is_err(), "{line}");
    }
}

#[test]
fn a_line_whose_time_has_another_form_is_none_of_syslog() {
    let line = "Oct 11 22:14:15 host su: x";
    assert_eq!(unwrap(Wrapper::Syslog, &[line]), [Ok(Some("x".to_owned()))]);
    for at in [0, 3, 9, 12, 15] {
        for head in ["", "<34>"] {
            let mut other = line.to_owned();
            other.replace_range(at..=at, "x");
            let other = format!("{head}{other}");
            assert!(unwrap(Wrapper::Syslog, &[&other])[0].is_err(), "{other}");
            // Whoever may have none takes it as it stands.
            assert_eq!(unwrap(Wrapper::MaybeSyslog, &[&other]), [Ok(Some(other.clone()))]);
        }
    }
    for (line, message) in [
        ("2026-11-21T03:54:12Z host su[7]: x", "x"),
        ("<0>2026-11-21T03:54:12Z host su:x", "x"),
        ("Oct 11 22:14:15 host su[7] x", "su[7] x"),
        ("Oct 11 22:14:15 host :x", ":x"),
        ("Oct 11 22:14:15 host [7]: x", "[7]: x"),
        ("Oct 11 22:14:15 host su:", ""),
        ("Oct 11 22:14:15 host su", "su"),
        ("<34>1 - h a p i -", ""),
        ("<34>1 - h a p i [x a=\"\\\"]\"][y] m", "m"),
    ] {
        assert_eq!(unwrap(Wrapper::Syslog, &[line]), [Ok(Some(message.to_owned()))], "{line}");
    }
    for line in [
        "<34Oct 11 22:14:15 host su: x",
        "<>Oct 11 22:14:15 host su: x",
        "<1234>Oct 11 22:14:15 host su: x",
        "Oct 11 22:14:15  host su: x",
        "Oct 11 22:14:15 host su[7: x",
        "<34>1 - h a p i -x",
        "<34>1 - h a p i [x]y",
        "<34>1 - h a p i [x a=\"]",
        "<34>1 - h a p i",
        "1 - h a p i - m",
    ] {
        assert!(unwrap(Wrapper::Syslog, &[line])[0].is_err(), "{line}");
    }
}

#[test]
fn pieces_may_have_512_kib_together_and_not_a_byte_more() {
    let piece = |tag: &str, length: usize| {
        format!("2016-10-06T00:17:09Z stdout {tag} {}", "x".repeat(length))
    };
    for (length, is_one) in [(WHOLE_BYTES_MAX, true), (WHOLE_BYTES_MAX + 1, false)] {
        assert_eq!(unwrap(Wrapper::Cri, &[&piece("F", length)])[0].is_ok(), is_one);
        let lines = [piece("P", length / 2), piece("P:x", length - length / 2 - 1), piece("F", 1)];
        let lines = lines.each_ref().map(String::as_str);
        assert_eq!(unwrap(Wrapper::Cri, &lines)[2].is_ok(), is_one, "{length}");
    }
    let docker = |log: &str| {
        let line = format!(r#"{{"log":"{log}","stream":"stdout","time":"2019-01-01T11:11:11Z"}}"#);
        unwrap(Wrapper::Docker, &[&line]).remove(0)
    };
    assert_eq!(docker(r"a\n"), Ok(Some("a".to_owned())));
    assert_eq!(docker(r"\u0061\r\n"), Ok(Some("a".to_owned())));
    assert_eq!(docker(r"\u0061\n"), Ok(Some("a".to_owned())));
    assert_eq!(docker("a"), Ok(None), "its last piece is to come");
    assert!(docker(r"a\r\r\n").is_err());
}
