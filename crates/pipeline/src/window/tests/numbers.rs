//! Claims about what is read as a number, and which of two values stays.

use super::*;

/// The cells of one row after lines of these values, one a second.
fn row_of(
    config: RollupConfig,
    name: &str,
    values: &[FieldValue<'static>],
) -> HashMap<String, String> {
    let mut window = window(RollupConfig { by: names(["host"]), ..config });
    for (second, value) in values.iter().enumerate() {
        add(&mut window, &line([(name, value.clone())]), second as i64);
    }
    taken(&mut window).remove(0)
}

#[test]
fn text_and_real_numbers_are_read_as_the_column_holds_them() {
    let sum = |name: &str, value: FieldValue<'static>| {
        let config = RollupConfig { sum: vec![name.to_owned()], ..RollupConfig::default() };
        let row = row_of(config, name, &[value]);
        row[&format!("sum_{}", name.replace('.', "_"))].clone()
    };
    for (value, whole, real) in [
        (text("12"), "12", "12.0"),
        (text(" 12\t"), "12", "12.0"),
        (text("-3"), "-3", "-3.0"),
        (text("1.5"), "0", "1.5"),
        (text("x"), "0", "0.0"),
        (text("inf"), "0", "0.0"),
        (FieldValue::Real(2.5), "3", "2.5"),
        (FieldValue::Real(-2.4), "-2", "-2.4"),
        (FieldValue::Real(9e15), "0", "9e15"),
        (FieldValue::Real(8_999_999_999_999_999.0), "8999999999999999", "8999999999999999.0"),
        (FieldValue::Real(-9e15), "0", "-9e15"),
        (FieldValue::Real(f64::NAN), "0", "0.0"),
        (FieldValue::Integer(7), "7", "7.0"),
    ] {
        assert_eq!(sum("bytes_out", value.clone()), whole, "{value:?}");
        let shown: f64 = sum("query.price", value.clone()).parse().unwrap();
        assert_eq!(shown.to_bits(), real.parse::<f64>().unwrap().to_bits(), "{value:?}");
    }
}

#[test]
fn the_smallest_and_the_largest_value_stay_whichever_comes_first() {
    for (name, values, least, most) in [
        ("status", [3, 1, 2], "1", "3"),
        ("query.price", [1, 3, 2], "1.0", "3.0"),
        ("time", [2, 2, 2], "@2", "@2"),
        ("time", [2, 3, 1], "@1", "@3"),
    ] {
        let config = RollupConfig {
            min: vec![name.to_owned()],
            max: vec![name.to_owned()],
            ..RollupConfig::default()
        };
        let row = row_of(config, name, &values.map(FieldValue::Integer));
        let column = name.replace('.', "_");
        let found =
            (row[&format!("min_{column}")].as_str(), row[&format!("max_{column}")].as_str());
        assert_eq!(found, (least, most), "{name} {values:?}");
    }
}

#[test]
fn a_last_value_is_that_of_the_latest_time_and_of_the_later_line_among_equal_ones() {
    let last = |name: &str, lines: &[(i64, FieldValue<'static>)]| {
        let config = RollupConfig { last: vec![name.to_owned()], ..RollupConfig::default() };
        let mut window = window(RollupConfig { by: names(["host"]), ..config });
        for (time, value) in lines {
            add(&mut window, &line([(name, value.clone())]), *time);
        }
        let row = taken(&mut window).remove(0);
        (row[&format!("last_{name}")].clone(), row[&format!("last_{name}_time")].clone())
    };
    let shown = |value: &str, time: &str| (value.to_owned(), time.to_owned());
    let lines = [(5, text("long text")), (9, text("b")), (7, text("later line"))];
    assert_eq!(last("user", &lines), shown("b", "@9"));
    assert_eq!(last("user", &[(5, text("a")), (5, text("longer"))]), shown("longer", "@5"));
    assert_eq!(last("user", &[(5, text("longer")), (5, text("b"))]), shown("b", "@5"));
    assert_eq!(last("user", &[(5, text("a\0b"))]), shown("a\u{fffd}b", "@5"));
    assert_eq!(last("user", &[(5, FieldValue::Integer(12))]), shown("12", "@5"));
    let lines = [(5, FieldValue::Integer(200)), (6, text("none"))];
    assert_eq!(last("status", &lines), shown("-", "@6"), "the latest is no number");
}

#[test]
fn numbers_in_a_key_are_told_apart_by_their_value_and_kind() {
    let mut window = window(RollupConfig {
        by: names(["status", "propensity", "path", "minute"]),
        ..RollupConfig::default()
    });
    for (status, propensity, path) in
        [(1, 0.5, "/a"), (1, 1.5, "/a"), (2, 0.5, "/a"), (1, 0.5, "/b"), (1, 0.5, "/a")]
    {
        let fields = [
            ("status", FieldValue::Integer(status)),
            ("propensity", FieldValue::Real(propensity)),
            ("path", text(path)),
        ];
        add(&mut window, &line(fields), MINUTE + 7);
    }
    let rows = taken(&mut window);
    let shown: Vec<String> = rows
        .iter()
        .map(|row| {
            let row = |name: &str| row[name].as_str();
            format!("{} {} {} {}", row("status"), row("propensity"), row("path"), row("count"))
        })
        .collect();
    assert_eq!(shown, ["1 0.5 /a 2", "1 1.5 /a 1", "2 0.5 /a 1", "1 0.5 /b 1"]);
    assert!(rows.iter().all(|row| row["minute"] == format!("@{MINUTE}")));
}
