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
