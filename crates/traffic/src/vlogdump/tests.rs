//! Claims about `vlogdump`.

use super::{OPTION_NAMES, VlogdumpOptions};

fn filter(assignments: &[&str]) -> String {
    let mut options = VlogdumpOptions::default();
    assignments.iter().for_each(|one| options.assign(one).unwrap());
    options.filter().unwrap().map_or_else(String::new, |filter| filter.as_str().to_owned())
}

#[test]
fn options_become_a_filter() {
    assert_eq!(filter(&["only_misses=1"]), "var.miss");
    assert_eq!(filter(&["url_match=!^/api"]), "var.url !~ \"(?s)^/api\"");
    assert_eq!(filter(&["only_slow=1"]), "var.ready_us >= 1000000");
    assert_eq!(filter(&["only_slow=200.5"]), "var.ready_us >= 200500");
    let both = "(var.hit) and (var.status_line ~ \"(?s)^5\")";
    assert_eq!(filter(&["only_hits=1", "only_status=^5"]), both);
}

#[test]
fn an_option_of_0_is_none() {
    assert_eq!(filter(&["only_misses=0", "url_match=", "show_req_headers=1"]), "");
    assert_eq!(filter(&["only_hits=1", "only_hits=0"]), "");
}

#[test]
fn quotes_and_backslashes_of_patterns_are_kept() {
    assert_eq!(filter(&[r#"url_match=\d"x"#]), r#"var.url ~ "(?s)\\d\"x""#);
}

#[test]
fn every_option_is_taken() {
    for name in OPTION_NAMES {
        VlogdumpOptions::default().set(name, "1").unwrap();
    }
}

#[test]
fn what_is_wrong_is_said_with_the_way_out() {
    let wrong = |text: &str| VlogdumpOptions::default().assign(text).unwrap_err().to_string();
    assert!(wrong("only_mises=1").contains("did you mean `only_misses`?"));
    assert!(wrong("only_misses").contains("-v only_misses=1"));
    assert!(wrong("url_match=(").starts_with("url_match: bad regular expression"));
    assert!(wrong("only_slow=soon").contains("milliseconds"));
}
