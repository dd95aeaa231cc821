//! Claims about attributes.

use stdx::Random;

use super::*;

/// Calls of which those on server `b` are slower with probability `slower`.
fn calls(count: usize, slower: f64, seed: u64) -> Series {
    let mut random = Random::new(seed);
    let mut series = Series::default();
    let (mut of, mut ids, mut bytes, mut worker) = (vec![], vec![], vec![], vec![]);
    for at in 0..count {
        let server = random.up_to(3) as u32;
        let is_slow = server == 1 && random.fraction() < slower;
        series.total_ms.push(10.0 + random.fraction() + if is_slow { 100.0 } else { 0.0 });
        of.push(server);
        ids.push(at as u32);
        worker.push(random.up_to(7) as f64);
        bytes.push(random.fraction() * 1e4 + if is_slow { 5e3 } else { 0.0 });
    }
    let names = ["a", "b", "c", "d"].map(str::to_owned).to_vec();
    let each = (0..count).map(|at| format!("request {at}")).collect();
    series.attributes = vec![
        Attribute { name: "server".into(), values: AttributeValues::Names { names, of } },
        Attribute { name: "id".into(), values: AttributeValues::Names { names: each, of: ids } },
        Attribute { name: "bytes".into(), values: AttributeValues::Numbers(bytes) },
        Attribute { name: "worker".into(), values: AttributeValues::Numbers(worker) },
    ];
    series
}

fn verdicts(series: &Series) -> Vec<AttributeVerdict> {
    let found = significant(&attributes(series, &Split::new(&series.total_ms, None)));
    let inner = |verdict| match verdict {
        Verdict::Attribute(found) => found,
        other => panic!("{other:?}"),
    };
    found.into_iter().map(inner).collect()
}

#[test]
fn the_slow_server_and_the_large_answers_are_named() {
    let found = verdicts(&calls(1000, 0.2, 1));
    let server = found.iter().find(|found| found.attribute == "server").expect("server");
    assert_eq!(server.value, "b");
    assert!(server.share_slow > 0.9 && server.share_typical < 0.35, "{server:?}");
    assert!(server.ci[0] > 0.4 && server.p < 1e-6, "{server:?}");
    let bytes = found.iter().find(|found| found.attribute == "bytes").expect("bytes");
    assert!(bytes.value.starts_with("> "), "{bytes:?}");
    assert!(!found.iter().any(|found| found.attribute == "id" || found.attribute == "worker"));
}

#[test]
fn unrelated_attributes_are_rarely_blamed() {
    let blamed = (0..300).filter(|seed| !verdicts(&calls(500, 0.0, *seed)).is_empty()).count();
    // At most 3 expected of 300.
    assert!(blamed < 10, "{blamed} of 300");
}

#[test]
fn many_different_values_count_for_the_adjustment() {
    let series = calls(2000, 0.0, 3);
    let tests = attributes(&series, &Split::new(&series.total_ms, None));
    assert_eq!(tests.iter().filter(|test| test.attribute == "worker").count(), 8);
    assert!(tests.iter().all(|test| test.attribute != "id"), "single values are not tested");
}

#[test]
fn missing_values_and_short_series_are_no_trouble() {
    let mut series = calls(400, 0.3, 4);
    let AttributeValues::Numbers(bytes) = &mut series.attributes[2].values else { unreachable!() };
    bytes.iter_mut().step_by(2).for_each(|bytes| *bytes = f64::NAN);
    assert!(verdicts(&series).iter().any(|found| found.attribute == "bytes"));
    let short = calls(6, 1.0, 5);
    assert!(attributes(&short, &Split::new(&short.total_ms, None)).is_empty());
}
