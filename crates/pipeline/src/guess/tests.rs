//! Claims about formats proposed for the lines that their programs document.

use super::*;
use crate::decode::DOCUMENTED;

/// The names of formats that are tried alone and inside each wrapper.
pub(crate) fn tried_inside_wrappers() -> impl Iterator<Item = &'static str> {
    CANDIDATES.iter().map(|candidate| candidate.name)
}

#[test]
fn the_documented_lines_of_each_program_lead_to_its_format() {
    for (name, text) in DOCUMENTED {
        let guess = guess_format(format!("{text}\n").as_bytes());
        let (format, read) = guess.map(|guess| (guess.format, guess.read)).unwrap_or_default();
        assert_eq!((format, read > 0), (name, true), "{text}");
    }
}

#[test]
fn a_wrapper_is_proposed_with_the_format_inside() {
    let line = "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"x\"";
    for (wrapper, text) in [
        ("cri", format!("2016-10-06T00:17:09.669794202Z stdout F {line}\n")),
        ("syslog", format!("<134>Feb  6 12:14:14 web nginx: {line}\n")),
        (
            "docker",
            format!(
                "{{\"log\":\"{}\\n\",\"stream\":\"stdout\",\"time\":\"2019-01-01T11:11:11Z\"}}\n",
                line.replace('"', "\\\"")
            ),
        ),
    ] {
        let guess = guess_format(text.as_bytes()).unwrap();
        assert_eq!((guess.format, guess.wrapper), ("combined", Some(wrapper)), "{text}");
    }
}

#[test]
fn a_format_that_finds_less_does_not_win_by_reading_a_line_that_was_cut() {
    let haproxy = "Feb  6 12:14:14 web haproxy[9]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] \
                   in s/s1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 \"GET / HTTP/1.1\"";
    let ingress = "10.0.1.2 - - [21/Nov/2026:03:54:11 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \
                   \"curl\" 300 0.011 [default-web-80] [] 10.1.0.1:80 0 0.001 200 abcdef";
    for (format, line, cut) in [("haproxy", haproxy, 70), ("ingress-nginx", ingress, 90)] {
        let guess = guess_format(format!("{line}\n{line}\n{}\n", &line[..cut]).as_bytes());
        let guess = guess.unwrap();
        assert_eq!((guess.format, guess.read, guess.lines), (format, 2, 3));
    }
}

#[test]
fn lines_of_no_format_lead_to_none_and_few_bad_ones_do_not_matter() {
    assert_eq!(guess_format(b"hello\nworld\n"), None);
    assert_eq!(guess_format(b""), None);
    let line = "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 1\n";
    let guess = guess_format(format!("{line}nonsense\n{line}").as_bytes()).unwrap();
    assert_eq!((guess.format, guess.read, guess.lines), ("common", 2, 3));
}

#[test]
fn markers_are_found_in_the_text_that_a_wrapper_escapes() {
    for (name, text) in DOCUMENTED {
        if name != "caddy" {
            continue;
        }
        let inside = text.replace('\\', "\\\\").replace('"', "\\\"");
        let docker = format!(
            "{{\"log\":\"{inside}\\n\",\"stream\":\"stdout\",\
             \"time\":\"2019-01-01T11:11:11Z\"}}\n"
        );
        let cri = format!("2016-10-06T00:17:09.669794202Z stdout F {text}\n");
        for (wrapper, text) in [("docker", docker), ("cri", cri)] {
            let guess = guess_format(text.as_bytes()).unwrap();
            assert_eq!((guess.format, guess.wrapper), ("caddy", Some(wrapper)), "{text}");
        }
    }
}

#[test]
fn a_line_without_a_host_is_combined_and_one_with_it_is_of_lighttpd() {
    let line = "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"x\"\n";
    let host = line.replace("7 -", "7 e.org");
    let vhost = format!("e.org:80 {}", line.replace("- -", "- ann"));
    for (text, format) in
        [(line, "combined"), (host.as_str(), "lighttpd"), (vhost.as_str(), "vhost_combined")]
    {
        assert_eq!(guess_format(text.as_bytes()).unwrap().format, format, "{text}");
    }
}

#[test]
fn syslog_needs_the_name_of_a_program() {
    let format = |text: &str| guess_format(text.as_bytes()).map(|guess| guess.format);
    assert_eq!(format("2026-11-26T11:34:24.123456789Z stdout F hello world\n"), Some("cri"));
    let elb = "2015-05-13T23:39:43.945958Z my-loadbalancer 192.168.131.39:2817 10.0.0.1:80 \
               0.000073 0.001048 0.000057 200 200 0 29 \"GET http://www.example.com:80/ HTTP/1.1\" \
               \"curl/7.38.0\" - -\n";
    assert_eq!(format(elb), None);
    assert_eq!(format("Nov 26 11:34:24 web sshd[7]: closed\n"), Some("syslog"));
    assert_eq!(format("<34>1 2003-10-11T22:14:15.003Z web su - ID47 - failed\n"), Some("syslog"));
}

#[test]
fn what_lines_have_behind_the_format_is_told() {
    let line = "192.0.2.7 - - [21/Nov/2026:03:54:12 +0000] \"GET /a HTTP/1.1\" 200 1";
    for (text, format, longer, tail) in [
        (format!("{line} \"-\" \"x\"\n"), "combined", 0, ""),
        (format!("{line} \"-\" \"x\" 0.123 \"a\"\n"), "combined", 2, "0.123 \"a\""),
        (format!("{line} 0.123\n"), "common", 2, "0.123"),
    ] {
        let guess = guess_format(format!("{text}{text}nonsense\n").as_bytes()).unwrap();
        let found = (guess.format, guess.longer, guess.tail.as_str());
        assert_eq!(found, (format, longer, tail), "{text}");
    }
}

#[test]
fn iis_is_known_by_its_columns_too() {
    let text = "#Fields: date time s-ip cs-method cs-uri-stem sc-status sc-win32-status \
                time-taken\n\
                2020-05-01 00:00:02 192.168.0.1 GET /a 200 0 62\n";
    assert_eq!(guess_format(text.as_bytes()).unwrap().format, "iis");
}
