//! C that is listed, and C that slips in.

use super::check;
use crate::graph::sample::graph;
use crate::tree::Text;

fn findings(listed: &str) -> Vec<String> {
    let mut graph = graph(&[
        ("tidegate", true, &["tls", "pure", "dev:openssl-sys"]),
        ("tls", false, &[]),
        ("pure", false, &["zstd-sys"]),
        ("zstd-sys", false, &[]),
        ("openssl-sys", false, &[]),
    ]);
    graph.packages.get_mut("tls").expect("it is in the sample").links = Some("tls_core".to_owned());
    let found = check(&Text::new("foreign.txt", listed), &graph);
    found.into_iter().map(|finding| finding.what).collect()
}

#[test]
fn listed_c_passes_and_tests_may_use_any() {
    assert_eq!(findings("zstd-sys compression\ntls crypto\n"), [""; 0]);
}

#[test]
fn other_c_fails_however_deep_it_sits() {
    let expected =
        ["`tls` brings C into the edge binary", "`zstd-sys` brings C into the edge binary"];
    assert_eq!(findings("# none\n"), expected);
}
