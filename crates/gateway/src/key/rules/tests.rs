//! Claims about the key rules: the key and the request to the upstream cover the same parts.

use http::header::HeaderName;

use super::{Cookies, KeySegment, NamePattern, QueryFields, Rules, SegmentSource};
use cache::key::KeyBytes;
use http1::FieldLines;

fn patterns(texts: &[&str]) -> Vec<NamePattern> {
    texts.iter().map(|text| NamePattern::parse(text).unwrap()).collect()
}

fn target(rules: &Rules, target: &str) -> String {
    let mut out = KeyBytes::new();
    rules.append_target(target, &mut out);
    String::from_utf8(out.to_vec()).unwrap()
}

fn client(fields: &[(&str, &str)]) -> FieldLines {
    fields.iter().copied().collect()
}

/// Returns the parts of the key, and the forwarded fields.
fn read(rules: &Rules, fields: &[(&'static str, &'static str)]) -> (String, Vec<String>) {
    let mut headers = client(fields);
    let mut parts = KeyBytes::new();
    rules.append_parts(&headers, &mut parts);
    rules.rewrite(&mut headers, false);
    let line =
        |(name, value): (&[u8], &[u8])| String::from_utf8([name, b": ", value].concat()).unwrap();
    let mut on: Vec<String> = headers.iter().map(line).collect();
    on.sort();
    (String::from_utf8(parts.to_vec()).unwrap().replace('\n', " "), on)
}

#[test]
fn fields_are_sorted_by_name_and_those_of_one_name_keep_their_order() {
    let rules = Rules { sort: true, ..Rules::default() };
    assert_eq!(target(&rules, "/x?b=2&a=2&a=1&b=1&c"), "/x?a=2&a=1&b=2&b=1&c");
    assert_eq!(target(&rules, "/x?b&&a=?"), "/x?a=?&b");
    for same in ["/x", "/x?a", "/", "/x;b=1;a=2?a=%26&b"] {
        assert_eq!(target(&rules, same), same);
    }
    assert_eq!(target(&rules, "/x?"), "/x");
}

#[test]
fn named_fields_are_dropped_or_kept() {
    let drop = QueryFields::Drop(patterns(&["utm_*", "fbclid"]));
    let drop = Rules { fields: drop, ..Rules::default() };
    for (sent, counts) in [
        ("/x?utm_source=a&b=1&utm_=2&fbclid", "/x?b=1"),
        ("/x?fbclid=1", "/x"),
        ("/x?UTM_source=a&fbclid2=x&utm=1", "/x?UTM_source=a&fbclid2=x&utm=1"),
        // The key keeps another spelling, and the upstream gets the same.
        ("/x?utm%5fsource=a", "/x?utm%5fsource=a"),
        // An upstream might take the rest for another field, so it is dropped with this one.
        ("/x?utm_source=a;b=2&c", "/x?c"),
    ] {
        assert_eq!(target(&drop, sent), counts);
    }
    let keep = Rules { fields: QueryFields::Keep(patterns(&["q", "page*"])), ..Rules::default() };
    assert_eq!(target(&keep, "/x?z=1&q=2&page_size=3&Q=4&q=5"), "/x?q=2&page_size=3&q=5");
    assert_eq!(target(&keep, "/x?z"), "/x");
    let none = Rules { fields: QueryFields::Keep(Vec::new()), ..Rules::default() };
    assert_eq!(target(&none, "/x?a=1"), "/x");
}

#[test]
fn the_users_field_is_left_to_the_user() {
    let rules = Rules { user_fields: vec!["u".into()], ..Rules::default() };
    let sent = "/x?a=1&u=p1&%75=p1&b=2";
    assert_eq!(target(&rules, sent), "/x?a=1&b=2");
    assert_eq!(rules.user_pairs(sent).collect::<Vec<_>>(), ["u=p1", "%75=p1"]);
}

#[test]
fn named_cookies_count_and_no_other_goes_on() {
    let named = Cookies::Named(vec!["currency".into(), "lang".into()]);
    let rules = Rules { cookies: named, ..Rules::default() };
    let sent = [("cookie", "x=1; lang=de;currency=EUR"), ("cookie", "currency=\"CHF\"; currenc=1")];
    let (key, on) = read(&rules, &sent);
    assert_eq!(key, " ;currency=EUR; currency=\"CHF\"; lang=de");
    assert_eq!(on, ["cookie: currency=EUR; currency=\"CHF\"; lang=de"]);
    assert_eq!(read(&rules, &[("cookie", "x=\"; lang=en; y=\"")]).1, ["cookie: lang=en"]);
    assert_eq!(read(&rules, &[("cookie", "x=1")]), (" ;".to_owned(), vec![]));
    assert!(!rules.has_unkeyed_cookies(&client(&sent)) && rules.determines("cookie"));
    let none = Rules { cookies: Cookies::Named(Vec::new()), ..Rules::default() };
    assert_eq!(read(&none, &sent), (String::new(), vec![]));
}

#[test]
fn stripped_cookies_do_not_go_on_and_the_others_are_not_part_of_the_key() {
    let strip = Cookies::Strip(patterns(&["_ga*", "_fbp"]));
    let rules = Rules { cookies: strip, ..Rules::default() };
    let (key, on) = read(&rules, &[("cookie", "_ga=1; s=2; _ga_X=3; _fbp=4; _fbp2=5")]);
    assert_eq!((key.as_str(), on), ("", vec!["cookie: s=2; _fbp2=5".to_owned()]));
    let mut only = client(&[("cookie", "_ga=1; _fbp=2")]);
    rules.rewrite(&mut only, false);
    assert!(only.is_empty() && !rules.has_unkeyed_cookies(&only));
    assert!(!rules.determines("cookie"));
}

#[test]
fn headers_count_as_one_list_and_absent_is_not_empty() {
    let headers = vec![HeaderName::from_static("x-tenant")];
    let rules = Rules { headers, ..Rules::default() };
    let (key, on) = read(&rules, &[("x-tenant", "a"), ("x-other", "b"), ("x-tenant", " c")]);
    assert_eq!(key, " :x-tenant=a, c");
    assert_eq!(on, ["x-other: b", "x-tenant: a, c"]);
    assert_eq!(read(&rules, &[]).0, "");
    assert_eq!(read(&rules, &[("x-tenant", "")]).0, " :x-tenant=");
    assert!(rules.determines("x-tenant") && !rules.determines("x-other"));
}

#[test]
fn a_segment_is_one_of_its_values_and_goes_on_as_that() {
    let segment = |source| KeySegment {
        source,
        values: vec!["mobile".into(), "tablet".into()],
        default: "desktop".into(),
    };
    let by_header = segment(SegmentSource::Header(HeaderName::from_static("x-device")));
    let rules = Rules { segments: vec![by_header], ..Rules::default() };
    for (sent, value) in [("tablet", "tablet"), ("Tablet", "desktop"), ("<evil>", "desktop")] {
        let (key, on) = read(&rules, &[("x-device", sent), ("cookie", "a=1")]);
        assert_eq!(key, format!(" ,{value}"));
        assert_eq!(on, ["cookie: a=1".to_owned(), format!("x-device: {value}")]);
    }
    assert_eq!(read(&rules, &[]), (" ,desktop".to_owned(), vec!["x-device: desktop".to_owned()]));

    let by_cookie = segment(SegmentSource::Cookie("d".into()));
    let rules = Rules { segments: vec![by_cookie], ..Rules::default() };
    let (key, on) = read(&rules, &[("cookie", "a=1; d=mobile; d=tablet; b=2")]);
    assert_eq!((key.as_str(), on), (" ,mobile", vec!["cookie: a=1; b=2; d=mobile".to_owned()]));
    assert!(rules.has_unkeyed_cookies(&client(&[("cookie", "a=1; d=mobile")])));
    assert!(!rules.has_unkeyed_cookies(&client(&[("cookie", "d=mobile")])));
    let mut hidden = client(&[("cookie", "a=1")]);
    rules.rewrite(&mut hidden, true);
    assert_eq!(hidden.text("cookie"), Some("d=desktop"));
}

#[test]
fn a_pattern_is_a_name_or_a_beginning() {
    for text in ["", "a*b", "**", "a&b", "a=b", "a;", "a b", "a\n"] {
        assert_eq!(NamePattern::parse(text), None, "{text}");
    }
    assert!(NamePattern::parse("*").unwrap().matches(b"anything"));
}
