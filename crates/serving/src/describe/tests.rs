//! The document beside the paths that are answered.

use super::*;

#[test]
fn the_document_is_read_and_every_reference_in_it_leads_somewhere() {
    let document = openapi();
    assert_eq!(document["openapi"], "3.1.0");
    let text = document.to_string();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}
