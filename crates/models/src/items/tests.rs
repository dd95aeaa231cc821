//! The items file: what is read, and every way it is refused.

use super::*;

fn wanted() -> WantedColumns {
    let texts = vec!["publisher".to_owned()];
    WantedColumns { numbers: vec!["popularity".to_owned(), "stats.reads".to_owned()], texts }
}

fn problems(text: &str) -> Vec<String> {
    match Items::parse(text.as_bytes(), &wanted()) {
        Ok(_) => panic!("accepted"),
        Err(Error::Items(problems)) => problems.iter().map(ToString::to_string).collect(),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn columns_hold_one_entry_per_row_and_nan_where_absent() {
    let items = Items::parse(
        b"{\"id\":\"17\",\"title\":\"a \\\"b\\\"\",\"category\":\"b\",\"popularity\":0.5}\r\n\n\
          {\"id\":\"x\",\"popularity\":null,\"publisher\":\"P\",\
          \"stats\":{\"reads\":3},\"hot\":true}",
        &wanted(),
    )
    .unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!((items.row(b"17"), items.row(b"x"), items.row(b"1")), (Some(0), Some(1), None));
    let popularity = items.number("popularity").unwrap();
    assert!(popularity[0] == 0.5 && popularity[1].is_nan());
    assert_eq!(items.number("stats.reads").unwrap()[1], 3.0);
    assert_eq!(items.number("hot"), None, "only wanted columns are kept");
    assert_eq!(items.text("publisher").unwrap().rows(), [Codes::ABSENT, 0]);
    assert_eq!(items.text("category").unwrap().code("b"), Some(0));
    assert_eq!(items.shown(0), r#""id":"17","title":"a \"b\"","category":"b""#);
    assert_eq!(items.shown(1), r#""id":"x","title":null,"category":null"#);
}

#[test]
fn every_bad_line_is_reported_with_its_number() {
    let found = problems(
        "{\"id\":\"1\"}\n{\"id\":\"1\"}\n{\"id\":7}\n{}\n{\"id\":\"2\",\"tags\":[1]}\n{\"id\"\n\
         {\"id\":\"3\",\"popularity\":\"high\",\"title\":5}\n{\"id\":\"4\",\"popularity\":1e31}\n",
    );
    for (line, expected) in [
        "line 2: id `1` is given twice",
        "line 3: `id` must be a non-empty text",
        "line 4: `id` is missing",
        "line 5: `tags` is an array",
        "line 6: malformed JSON at column 5: EOF",
        "line 7: `popularity` must be a number",
        "line 7: `title` must be a text",
        "line 8: `popularity` is beyond 1e30",
    ]
    .iter()
    .enumerate()
    {
        assert!(found[line].starts_with(expected), "{expected}\nin {found:#?}");
    }
}

#[test]
fn two_values_of_one_dotted_name_are_refused_with_both_names() {
    for (line, wanted) in [
        (r#"{"id":"1","a.b":1,"a":{"b":2}}"#, "`a.b` and `b` in `a`"),
        (r#"{"id":"1","a":{"b":2},"a.b":1}"#, "`a.b` and `b` in `a`"),
        (r#"{"id":"1","a":{"b.c":1,"b":{"c":2}}}"#, "`a.b.c` and `c` in `a.b`"),
    ] {
        let wanted = format!("line 1: {wanted} have one name; rename one of them");
        assert_eq!(problems(line), [wanted], "{line}");
    }
}

#[test]
fn an_empty_file_is_refused() {
    assert_eq!(problems("\n \n"), ["file: holds no item"]);
}

#[test]
fn an_error_prints_twenty_problems_and_counts_the_rest() {
    let text = "{}\n".repeat(30);
    let error = Items::parse(text.as_bytes(), &wanted()).unwrap_err().to_string();
    assert!(error.starts_with("read items: line 1: `id` is missing; line 2:"), "{error}");
    assert!(error.ends_with("line 20: `id` is missing; and 10 more"), "{error}");
}
