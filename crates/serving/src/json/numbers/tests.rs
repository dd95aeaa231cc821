//! Every number is serde_json's, to the bit.

use super::*;

fn numbers(text: &str) -> Option<Vec<f64>> {
    let mut found = Vec::new();
    let end = read(text.as_bytes(), 0, &mut found, usize::MAX)?;
    assert_eq!(end, text.len());
    Some(found)
}

#[test]
fn numbers_are_the_nearest_doubles() {
    let written = [
        "0",
        "-0",
        "-0.0",
        "1",
        "10",
        "123456789",
        "0.1",
        "0.30000000000000004",
        "1e22",
        "1e23",
        "9007199254740993",
        "9007199254740992",
        "123456789012345678901234567890",
        "5e-324",
        "1.7976931348623157e308",
        "2.2250738585072014e-308",
        "-12.5e-3",
        "1E+2",
        "0.000001",
        "3.141592653589793",
        "8.41",
        "7e-10",
    ];
    for text in written {
        let expected: f64 = text.parse().unwrap();
        let found = numbers(&format!("[{text}]")).unwrap();
        assert_eq!(found[0].to_bits(), expected.to_bits(), "{text}");
    }
}

#[test]
fn space_is_allowed_where_json_allows_it() {
    assert_eq!(numbers("[ 1 ,\n2\t,\r3 ]").unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(numbers("[]").unwrap(), [0.0; 0]);
}

#[test]
fn what_is_no_array_of_numbers_is_left_alone() {
    for text in [
        "[01]",
        "[1.]",
        "[.5]",
        "[+1]",
        "[1,]",
        "[1 2]",
        "[null]",
        "[-]",
        "[1e]",
        "[",
        "1",
        "[1",
        "[1e+]",
        "[\"1\"]",
        "[[1]]",
        "[NaN]",
        "[1e9999999999]",
    ] {
        assert_eq!(read(text.as_bytes(), 0, &mut Vec::new(), usize::MAX), None, "{text}");
    }
}

#[test]
fn no_more_than_the_limit_is_read() {
    assert_eq!(read(b"[1,2,3]", 0, &mut Vec::new(), 2), None);
}

#[test]
fn digits_end_where_they_end_whatever_follows_and_wherever_the_text_ends() {
    for count in 0..=20 {
        let run: String = "98765432101234567890".chars().take(count).collect();
        let expected = run.parse::<u128>().unwrap_or(0) as u64;
        for follower in 0..=u8::MAX {
            for after in ["", "1", "12345678901", "\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}"] {
                let text = [run.as_bytes(), &[follower], after.as_bytes()].concat();
                if follower.is_ascii_digit() {
                    continue;
                }
                let mut number = 0;
                assert_eq!(digits(&text, 0, &mut number), count, "{text:?}");
                assert_eq!(number, expected, "{text:?}");
            }
        }
        let mut number = 0;
        assert_eq!((digits(run.as_bytes(), 0, &mut number), number), (count, expected));
    }
}

fn table(text: &str) -> Option<(Vec<f64>, Option<[usize; 2]>)> {
    let (NumberTable { numbers, sizes }, end) = read_table(text.as_bytes(), 0)?;
    assert_eq!(end, text.len());
    Some((numbers, sizes))
}

#[test]
fn a_table_is_one_list_or_lists_of_equal_length() {
    assert_eq!(table(" [1, 2.5]"), Some((vec![1.0, 2.5], None)));
    assert_eq!(table("[]"), Some((vec![], None)));
    assert_eq!(table("[ [1,2] ,\n[3 , -0.25] ]"), Some((vec![1.0, 2.0, 3.0, -0.25], Some([2, 2]))));
    assert_eq!(table("[[],[]]"), Some((vec![], Some([2, 0]))));
    for text in [
        "5",
        "5 [[1]]",
        "[[1],[2,3]]",
        "[[1],2]",
        "[1,[2]]",
        "[[[1]]]",
        "[[1],]",
        "[[1]",
        "[[null]]",
        "[[1] [2]]",
        "[\"a\"]",
        "",
        "[",
        "{}",
    ] {
        assert_eq!(table(text), None, "{text}");
    }
}

#[test]
fn short_numbers_are_the_nearest_doubles_wherever_they_stand() {
    let mut written = Vec::new();
    for digits in ["0", "5", "05", "30", "1234567", "0000001", "12345678", "123456789"] {
        for whole in ["0", "9", "-0", "-7", "10"] {
            written.push(format!("{whole}.{digits}"));
        }
    }
    let expected: Vec<u64> =
        written.iter().map(|text| text.parse::<f64>().unwrap().to_bits()).collect();
    for between in [",", " ,", ", "] {
        let found = numbers(&format!("[{}]", written.join(between))).unwrap();
        let found: Vec<u64> = found.into_iter().map(f64::to_bits).collect();
        assert_eq!(found, expected);
    }
    for text in ["[0.5x]", "[0.5:1]", "[00.5]", "[-.5]", "[--0.5]", "[0.5,]", "[0.5e]", "[0..5]"] {
        assert_eq!(numbers(text), None, "{text}");
    }
    let mut few = Vec::new();
    assert_eq!(read(b"[0.25,0.75]           ", 0, &mut few, 1), None, "beyond the limit");
}
