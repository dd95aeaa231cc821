//! Claims about tables.

use super::*;

fn table() -> Table {
    let mut table = Table::new(vec![
        Column::new("step", Align::Left),
        Column::new("median", Align::Right),
        Column::new("excess", Align::Right),
    ]);
    table.push(vec!["resolve".into(), "1.2 ms".into(), "0.1 ms".into()]);
    table.push(vec![
        "a step with a long name".into(),
        "112 ms".into(),
        Cell::new("500 ms", Ink::Alarm),
    ]);
    table
}

#[test]
fn columns_are_aligned() {
    let expected = "\
step                     median  excess
resolve                  1.2 ms  0.1 ms
a step with a long name  112 ms  500 ms
";
    assert_eq!(table().render(&Style::default()), expected);
}

#[test]
fn text_gives_way_to_numbers_and_then_the_table_becomes_a_list() {
    let text = table().render(&Style { width: 30, colour: false, ascii: false });
    assert_eq!(text.lines().last().unwrap(), "a step with a…  112 ms  500 ms");
    let text = table().render(&Style { width: 20, colour: false, ascii: true });
    assert!(
        text.contains("median 1.2 ms\n") && text.contains("\n\nstep   a step with ~\n"),
        "{text}"
    );
    for width in 20..60 {
        let text = table().render(&Style { width, colour: false, ascii: false });
        assert!(text.lines().all(|line| width_of(line) <= width), "{width}\n{text}");
    }
}

#[test]
fn colours_do_not_count_as_width() {
    let style = Style { colour: true, ..Style::default() };
    let text = table().render(&style);
    assert!(text.contains("  \x1b[31m500 ms\x1b[0m\n"), "{text:?}");
}

#[test]
fn cells_with_control_characters_stay_on_their_line() {
    let mut table = Table::new(vec![Column::new("value", Align::Left)]);
    table.push(vec!["a\r\n\x1b[2J\tb".into()]);
    assert_eq!(table.render(&Style::default()), "value\na???[2J?b\n");
}

#[test]
fn titles_are_broken_before_text_is_cut() {
    let mut table = Table::new(vec![
        Column::new("route", Align::Left),
        Column::new("count", Align::Right),
        Column::new("p99_total µs", Align::Right),
    ]);
    table.push(vec!["/articles/{id}".into(), "120".into(), "346".into()]);
    let at = |width| table.render(&Style { width, colour: false, ascii: false });
    assert_eq!(
        at(80),
        "route           count  p99_total µs\n/articles/{id}    120           346\n"
    );
    let broken = [
        "                        p99_",
        "                       total",
        "route           count     µs",
        "/articles/{id}    120    346",
        "",
    ];
    assert_eq!(at(28), broken.join("\n"));
    assert!(at(25).contains("/articles/…    120    346\n"), "{}", at(25));
}
