//! Claims about `{n}`.

use super::NumberedText;

#[test]
fn every_hole_holds_the_same_number_and_other_braces_stay() {
    let template = NumberedText::new(b"/{n}/x?key={n}&json={\"n\":1}{n");
    assert_eq!(template.text(12), "/12/x?key=12&json={\"n\":1}{n");
}

#[test]
fn text_without_a_hole_stays_as_it_is() {
    let template = NumberedText::new("é/%7Bn%7D".as_bytes());
    assert_eq!(template.text(7), "é/%7Bn%7D");
    assert_eq!(NumberedText::new(b"").text(1), "");
}
