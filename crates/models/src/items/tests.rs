//! The items file: what is read, and every way it is refused.

use super::*;

fn wanted() -> WantedColumns {
    let texts = vec!["publisher".to_owned()];
    let numbers = vec!["popularity".to_owned(), "stats.reads".to_owned()];
    WantedColumns { numbers, texts, shown: None }
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
}

fn shown(text: &str, fields: Option<&[&str]>) -> Vec<String> {
    let fields = fields.map(|fields| fields.iter().map(ToString::to_string).collect());
    let items = Items::parse(text.as_bytes(), &WantedColumns { shown: fields, ..wanted() });
    let items = items.unwrap();
    (0..items.len() as u32).map(|row| items.shown(row).to_owned()).collect()
}

#[test]
fn an_item_is_shown_in_the_order_and_the_words_of_its_line() {
    let text = "{ \"price\": 1.50, \"id\" : \"17\",\"title\":\"a \\\"b\\\" \\u00e9\", \
                \"by\":{\"z\":1, \"a\":null},\"category\":\"b\",\
                \"big\":12345678901234567890123e-5}\n\
                {\"id\":\"x\",\"score\":3,\"explain\":\"no\",\"sale\":true,\"sale\":false}";
    assert_eq!(
        shown(text, None),
        [
            r#""price":1.50,"id":"17","title":"a \"b\" \u00e9","by":{"z":1, "a":null},"#.to_owned()
                + r#""category":"b","big":12345678901234567890123e-5"#,
            r#""id":"x","sale":false,"title":null,"category":null"#.to_owned(),
        ]
    );
    assert_eq!(
        shown(text, Some(&["sale", "price"])),
        [r#""price":1.50,"id":"17","sale":null"#, r#""id":"x","sale":false,"price":null"#]
    );
    assert_eq!(shown(text, Some(&[])), [r#""id":"17""#, r#""id":"x""#]);
}

#[test]
fn names_of_fields_are_known_also_of_nested_ones() {
    let text = r#"{"id":"1","by":{"name":"A"}}"#;
    let items = Items::parse(text.as_bytes(), &wanted()).unwrap();
    let mut names: Vec<&str> = items.names().collect();
    names.sort_unstable();
    assert_eq!(names, ["by", "by.name", "id"]);
    assert!(items.has("by.name") && !items.has("price"));
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

#[test]
fn numbers_are_the_nearest_doubles_as_python_reads_them() {
    // Shortest texts of random doubles, which a quick reader misses by one unit in the last place.
    let texts = ["1.0000000180025095e-35", "0.8444218515250481", "0.7579544029403025", "5e-324"];
    let lines: String = (0..)
        .zip(texts)
        .map(|(id, x)| format!("{{\"id\":\"{id}\",\"popularity\":{x}}}\n"))
        .collect();
    let items = Items::parse(lines.as_bytes(), &wanted()).unwrap();
    let exact = texts.map(|text| text.parse::<f64>().unwrap().to_bits());
    let found: Vec<u64> = items.number("popularity").unwrap().iter().map(|x| x.to_bits()).collect();
    assert_eq!(found, exact);
}
