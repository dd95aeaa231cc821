//! Names in few and in many places.

use super::check;
use crate::crates::sample;
use crate::ratchet::Ratchet;
use crate::tree::Text;

fn findings(text: &str, ordinary: &str, limits: &str) -> Vec<String> {
    let sources = sample::sources(&[("a.rs", text), ("b.rs", text)]);
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let ordinary = Text::new("ordinary.txt", ordinary);
    let found = check(&ordinary, &[sample::of(&sources)], &mut ratchet);
    found.into_iter().map(|finding| finding.what).collect()
}

const FOUR: &str = "struct Place;\nmod inner { type Place = u8; }\n";

#[test]
fn two_places_pass_and_more_fail_in_each() {
    assert_eq!(findings("enum Place {}", "", ""), [""; 0]);
    assert_eq!(findings(FOUR, "", ""), ["4 types are called `Place`, limit 2"; 4]);
    assert_eq!(findings(FOUR, "", "name Place 4"), [""; 0]);
}

#[test]
fn an_ordinary_name_passes_if_it_is_said_what_it_means() {
    assert_eq!(findings(FOUR, "# head\nPlace  where a thing stands\n", ""), [""; 0]);
    assert_eq!(findings(FOUR, "Place\n", ""), ["`Place` alone"]);
}

#[test]
fn names_in_tests_do_not_count() {
    let text = "struct Place;\n#[cfg(test)]\nmod tests { struct Place; }\n";
    assert_eq!(findings(text, "", ""), [""; 0]);
}
