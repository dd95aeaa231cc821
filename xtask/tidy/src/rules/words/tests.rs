//! Names that say what they should, and such as do not.

use super::check;
use crate::crates::sample;
use crate::ratchet::Ratchet;
use crate::tree::Text;

fn findings(list: &str, text: &str, limits: &str) -> Vec<String> {
    let sources = sample::sources(&[("a.rs", text)]);
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let list = Text::new("words.txt", list);
    let found = check(&list, &[sample::of(&sources)], &mut ratchet).expect("the list is readable");
    found.into_iter().map(|f| format!("{} {}", f.line, f.what)).collect()
}

fn met(list: &str, text: &str) -> bool {
    !findings(list, text, "").is_empty()
}

#[test]
fn a_word_is_met_in_any_part_of_a_name_that_is_defined() {
    let list = "code: folder -> dir\n";
    for text in [
        "struct FolderList;",
        "fn log_folders() {}",
        "fn f(folder: &Path) {}",
        "fn f() { let folder = 1; }",
        "enum E { Folder }",
        "struct S { folder: u8 }",
        "mod folder {}",
    ] {
        assert!(met(list, text), "{text}");
    }
    for text in ["fn f() { other::folder() }", "fn scaffolder() {}", "use a::Folder;"] {
        assert!(!met(list, text), "{text}");
    }
}

#[test]
fn functions_of_an_implemented_trait_are_named_by_the_trait() {
    let list = "code: cause -> reason\n";
    assert!(!met(list, "impl Error for S { fn cause(&self) {} }"));
    assert!(met(list, "impl S { fn cause(&self) {} }"));
}

#[test]
fn patterns_are_whole_names_starts_or_parts() {
    assert!(met("code: min_* -> _min\n", "fn min_bytes() {}"));
    assert!(!met("code: min_* -> _min\n", "fn min() {} fn bytes_min() {}"));
    assert!(met("types: =Order -> OriginRequest\n", "struct Order;"));
    assert!(!met("types: =Order -> OriginRequest\n", "struct Orders; fn order() {}"));
    assert!(met("code: in_force -> active\n", "struct NotInForce;"));
}

#[test]
fn keys_labels_and_fields_are_audiences_of_their_own() {
    let key = "#[derive(JsonSchema)]\nstruct S { #[serde(rename = \"why\")] reason: u8 }";
    assert!(met("keys: why -> reason\n", key));
    assert!(!met("code fields labels: why -> reason\n", key));
    let label = "fn f() { registry.counter(name, help, &[(\"why\", x)]); }";
    assert!(met("labels: why -> reason\n", label));
    assert!(!met("labels: why -> reason\n", "fn f() { g(&[(\"why\", x)]); }"));
    for field in ["why = 1", "%why", "?why", "a = 2, why", "why = %f(why), \"text\""] {
        assert!(
            met("fields: why -> reason\n", &format!("fn f() {{ info!({field}); }}")),
            "{field}"
        );
    }
    assert!(!met("fields: why -> reason\n", "fn f() { info!(a = why.b, \"why\"); }"));
}

#[test]
fn rows_and_exceptions_may_hold_in_some_places_only() {
    let text = "fn room() {}";
    assert!(met("code in crates/x: room -> namespace\n", text));
    assert!(!met("code in crates/xy crates/z/a.rs: room -> namespace\n", text));
    let list = "code: room -> namespace\nexcept code room in crates/x/src/a.rs: of a house\n";
    assert!(!met(list, text));
    let list = "code: max_* -> _max\nexcept code =max_age: the directive of HTTP\n";
    assert!(!met(list, "fn max_age() {}"));
    assert!(met(list, "fn max_age_s() {}"));
    let list = "code: held -> what it is\nexcept code held_out: the control group\n";
    assert!(!met(list, "enum E { HeldOut }"));
    assert!(met(list, "enum E { Held }"));
}

#[test]
fn above_the_limit_each_file_is_named_once() {
    let list = "code: why -> reason\n";
    let text = "fn f(why: u8) {}\nfn g(why: u8) {}";
    let expected = ["1 `why` and 1 more here says `why` of code (2 times, limit 1)"];
    assert_eq!(findings(list, text, "word code why 1"), expected);
    assert_eq!(findings(list, text, "word code why 2"), [""; 0]);
}

#[test]
fn a_malformed_row_is_named_with_its_line() {
    for row in ["folder -> dir", "code: folder", "people: folder -> dir", "except code a in b"] {
        let sources = sample::sources(&[]);
        let list = Text::new("words.txt", &format!("# head\n{row}\n"));
        let error = check(&list, &[sample::of(&sources)], &mut Ratchet::default());
        let error = error.expect_err("it has no form").to_string();
        assert!(error.starts_with("words.txt:2: neither"), "{row}: {error}");
    }
}
