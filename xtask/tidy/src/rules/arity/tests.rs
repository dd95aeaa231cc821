//! Functions with few and many values.

use super::check;
use crate::crates::sample;
use crate::ratchet::Ratchet;
use crate::tree::Text;

fn findings(text: &str, limits: &str) -> Vec<String> {
    let sources = sample::sources(&[("lib.rs", text)]);
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let found = check(&[sample::of(&sources)], &mut ratchet);
    found.into_iter().map(|finding| finding.what).collect()
}

const SIX: &str = "fn f(&self, a: u8, (b, c): (u8, u8), d: u8, e: u8, g: u8) {}";

#[test]
fn five_values_pass_and_six_fail_though_two_are_a_tuple() {
    assert_eq!(findings("fn f(a: u8, b: (u8, u8), c: u8, d: u8) {}", ""), [""; 0]);
    let expected = "`f` takes 6 values, at most 5 (1 such functions in `x`, limit 0)";
    assert_eq!(findings(&format!("trait T {{ {SIX} }}"), ""), [expected]);
}

#[test]
fn within_the_limit_none_is_named_and_above_it_all_are() {
    let two = format!("trait T {{ {SIX} }}\ntrait U {{ {SIX} }}");
    assert_eq!(findings(&two, "arity x 2"), [""; 0]);
    assert_eq!(findings(&two, "arity x 1").len(), 2);
}

#[test]
fn the_trait_answers_for_the_functions_of_its_impls() {
    assert_eq!(findings(&format!("impl T for S {{ {SIX} }}"), ""), [""; 0]);
}
