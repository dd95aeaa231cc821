//! Claims about rows on their way into columns.

use super::*;

#[test]
fn an_attribute_with_too_many_values_is_cut_and_noted() {
    let options = ReadOptions::default();
    let mut rows = SeriesBuilder::new("x", &options);
    for at in 0..NAMES_MAX + 10 {
        let text = format!("id {at}");
        let row = CallRow { total_ms: 1.0, attributes: vec![("id", &text)], ..CallRow::default() };
        rows.push(&row, at as u64).unwrap();
    }
    let series = rows.into_series().unwrap();
    let AttributeValues::Names { names, of } = &series.attributes[0].values else {
        panic!("{series:?}")
    };
    assert_eq!(names.len(), NAMES_MAX + 1);
    assert_eq!(names[*of.last().unwrap() as usize], OTHER);
    assert!(series.notes[0].contains("`id` has more than 65536 values"), "{:?}", series.notes);
}

#[test]
fn numbers_stay_numbers_however_many_there_are() {
    let options = ReadOptions::default();
    let mut rows = SeriesBuilder::new("x", &options);
    for at in 0..NAMES_MAX + 10 {
        let text = at.to_string();
        let row =
            CallRow { total_ms: 1.0, attributes: vec![("bytes", &text)], ..CallRow::default() };
        rows.push(&row, at as u64).unwrap();
    }
    let series = rows.into_series().unwrap();
    assert!(
        matches!(&series.attributes[0].values, AttributeValues::Numbers(_))
            && series.notes.is_empty()
    );
}

#[test]
fn a_row_without_a_time_takes_the_times_of_all() {
    let options = ReadOptions::default();
    let mut rows = SeriesBuilder::new("x", &options);
    rows.push(&CallRow { total_ms: 1.0, began_ms: Some(5.0), ..CallRow::default() }, 1).unwrap();
    rows.push(&CallRow { total_ms: 1.0, ..CallRow::default() }, 2).unwrap();
    let series = rows.into_series().unwrap();
    assert!(series.began_ms.is_empty() && series.notes[0].contains("no time"));
}

#[test]
fn an_attribute_named_twice_shifts_no_other_row() {
    let options = ReadOptions::default();
    let mut rows = SeriesBuilder::new("x", &options);
    let texts = |pairs: &[(&'static str, &'static str)]| CallRow {
        total_ms: 1.0,
        attributes: pairs.to_vec(),
        ..CallRow::default()
    };
    rows.push(&texts(&[("path", "/a"), ("path", "/b")]), 1).unwrap();
    rows.push(&texts(&[("path", "/c")]), 2).unwrap();
    let series = rows.into_series().unwrap();
    let AttributeValues::Names { names, of } = &series.attributes[0].values else {
        panic!("{series:?}")
    };
    let shown: Vec<&str> = of.iter().map(|at| names[*at as usize].as_str()).collect();
    assert_eq!(shown, ["/a", "/c"]);
}
