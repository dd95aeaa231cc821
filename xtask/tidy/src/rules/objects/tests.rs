//! Small and large objects.

use super::check;
use crate::crates::sample;
use crate::ratchet::Ratchet;
use crate::tree::Text;

fn findings(files: &[(&str, &str)], limits: &str) -> Vec<String> {
    let sources = sample::sources(files);
    let ratchet = Ratchet::parse(&Text::new("ratchet.txt", limits));
    let mut ratchet = ratchet.expect("the sample is well formed");
    let found = check(&[sample::of(&sources)], &mut ratchet);
    found.into_iter().map(|finding| finding.what).collect()
}

fn block(of: &str, lines: usize) -> String {
    format!("impl {of} {{\n{}}}\n", "    // work\n".repeat(lines - 2))
}

#[test]
fn lines_of_impl_count_together_over_all_files() {
    let file = |lines| format!("use super::S;\n{}{}", block("S", lines), block("Clone for S", 50));
    let parent = format!("mod a;\nmod b;\npub struct S;\n{}", block("S", 100));
    let files =
        |lines: &str| [("m.rs", &*parent), ("m/a.rs", lines)].map(|(a, b)| (a, b.to_owned()));
    let found = |lines, limits: &str| {
        let files = files(&file(lines));
        findings(&files.each_ref().map(|(path, text)| (*path, &**text)), limits)
    };
    assert_eq!(found(250, ""), [""; 0]);
    assert_eq!(found(251, ""), ["`S` has 401 lines of `impl` in 2 files, limit 400"]);
    assert_eq!(found(251, "impl x S 401"), [""; 0]);
}

#[test]
fn types_of_one_name_in_two_modules_are_two_objects() {
    let text = format!("struct S;\n{}", block("S", 300));
    assert_eq!(findings(&[("a.rs", &text), ("b.rs", &text)], ""), [""; 0]);
}

#[test]
fn fifteen_fields_pass_and_sixteen_fail_unless_they_are_plain_data() {
    let fields = |count: usize, visibility: &str| -> String {
        (0..count).map(|number| format!("{visibility} f{number}: u8,")).collect()
    };
    let of = |text: String| findings(&[("a.rs", &text)], "");
    assert_eq!(of(format!("struct S {{ {} }}", fields(15, ""))), [""; 0]);
    let expected = ["`S` has 16 fields, limit 15"];
    assert_eq!(of(format!("struct S {{ {} }}", fields(16, "pub(crate)"))), expected);
    assert_eq!(of(format!("struct S {{ {} }}", fields(16, "pub"))), [""; 0]);
    let read = format!("#[derive(Deserialize)]\nstruct S {{ {} }}", fields(16, ""));
    assert_eq!(of(read), [""; 0]);
}
