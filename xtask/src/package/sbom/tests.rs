//! What cargo says becomes components, with what each needs.

use super::{bill, sums};
use crate::package::parts::parts;

const TREE: &str = "\
0|tidegate v0.1.0 (/a/crates/tidegate)|Apache-2.0|
1|stdx v0.1.0 (/a/crates/stdx)|Apache-2.0|
2|old v1.0.0|MIT/Apache-2.0|
1|zstd-sys v2.1.2+zstd.1.5.7|MIT|
2|macros v3.0.0 (proc-macro)|MIT| (*)
1|old v1.0.0|MIT/Apache-2.0| (*)
";
const LINKED: &str = "\
0|tidegate v0.1.0 (/a/crates/tidegate)|Apache-2.0|
1|stdx v0.1.0 (/a/crates/stdx)|Apache-2.0|
2|old v1.0.0|MIT/Apache-2.0|
1|zstd-sys v2.1.2+zstd.1.5.7|MIT|
";
const LOCK: &str = "\
version = 4

[[package]]
name = \"macros\"
version = \"3.0.0\"
checksum = \"33\"

[[package]]
name = \"old\"
version = \"1.0.0\"
checksum = \"11\"

[[package]]
name = \"stdx\"
version = \"0.1.0\"

[[package]]
name = \"zstd-sys\"
version = \"2.1.2+zstd.1.5.7\"
checksum = \"22\"
";

#[test]
fn each_package_is_a_component_with_its_sum_and_what_it_needs() {
    let (built, linked) = (parts(TREE).unwrap(), parts(LINKED).unwrap());
    let bill = bill("0.1.0", &built, &linked, &sums(LOCK)).unwrap();
    let told: Vec<_> = bill["components"].as_array().unwrap().iter().collect();
    let told: Vec<[&str; 4]> = told
        .iter()
        .map(|part| {
            let text = |name: &str| part[name].as_str().unwrap_or_default();
            let sum = part["hashes"][0]["content"].as_str().unwrap_or_default();
            [text("name"), text("bom-ref"), text("scope"), sum]
        })
        .collect();
    let expected = [
        ["macros", "pkg:cargo/macros@3.0.0", "excluded", "33"],
        ["old", "pkg:cargo/old@1.0.0", "required", "11"],
        ["stdx", "tidegate/stdx@0.1.0", "required", ""],
        ["zstd-sys", "pkg:cargo/zstd-sys@2.1.2%2Bzstd.1.5.7", "required", "22"],
    ];
    assert_eq!(told, expected);
    assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
    assert_eq!(bill["metadata"]["component"]["type"], "application");
    let needs = bill["dependencies"].as_array().unwrap();
    let of =
        |name: &str| needs.iter().find(|edge| edge["ref"] == name).unwrap()["dependsOn"].clone();
    assert_eq!(
        of("tidegate/tidegate@0.1.0"),
        serde_json::json!([
            "pkg:cargo/old@1.0.0",
            "tidegate/stdx@0.1.0",
            "pkg:cargo/zstd-sys@2.1.2%2Bzstd.1.5.7"
        ])
    );
    assert_eq!(of("tidegate/stdx@0.1.0"), serde_json::json!(["pkg:cargo/old@1.0.0"]));
}

#[test]
fn a_package_without_a_sum_is_refused() {
    let built = parts(TREE).unwrap();
    let told = bill("0.1.0", &built, &built, &sums("")).unwrap_err().to_string();
    assert_eq!(told, "`macros 3.0.0` has no sum");
}
