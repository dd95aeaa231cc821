//! Claims about `samples`: the keys that are picked lie all over a file.

use std::path::Path;

use super::*;
use crate::schema::Schema;

/// Picks among keys, which are SQL, and of which every second has a profile.
fn picked(keys: &[String]) -> Vec<(StoredKey, bool)> {
    let connection = Connection::open_in_memory().unwrap();
    let sql = "CREATE TABLE user_profiles (user_id PRIMARY KEY, has_profile);";
    connection.execute_batch(sql).unwrap();
    for (at, key) in keys.iter().enumerate() {
        let sql = format!("INSERT INTO user_profiles VALUES ({key}, {})", at % 2);
        connection.execute(&sql, []).unwrap();
    }
    let layout = Layout::detect(&connection, &Schema::default(), Path::new("p.db")).unwrap();
    pick(&connection, &layout).unwrap()
}

/// Asserts that no `gap_max` keys lie between two that are picked; `keys` rise.
#[track_caller]
fn assert_spread(keys: &[String], gap_max: usize) {
    let place = |(stored, has_profile): (StoredKey, bool)| {
        let text = String::from_utf8(stored.text().unwrap()).unwrap();
        let at = keys.iter().position(|key| key.trim_matches('\'') == text).unwrap();
        assert_eq!(has_profile, at % 2 == 1, "{text}");
        at
    };
    let picked = picked(keys);
    assert!(picked.len() <= 66, "{}", picked.len());
    let mut places: Vec<usize> = picked.into_iter().map(place).collect();
    places.sort_unstable();
    assert_eq!((places.first(), places.last()), (Some(&0), Some(&(keys.len() - 1))));
    let gap = places.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(gap.unwrap_or(0) <= gap_max, "{gap:?} in {places:?}");
}

#[test]
fn keys_are_picked_all_over_the_file() {
    let numbers = |from: i64, step: i64| -> Vec<String> {
        (0..640).map(|number| (from + number * step).to_string()).collect()
    };
    let texts = |begin: &str| -> Vec<String> {
        (0..640_u32).map(|number| format!("'{begin}{}'", letters(number))).collect()
    };
    for keys in [numbers(1, 1), numbers(-3_000, 10), numbers(i64::MIN / 2, i64::MAX / 640)] {
        assert_spread(&keys, 11);
    }
    for begin in ["", "u", "subscriber-of-the-paper-"] {
        assert_spread(&texts(begin), 40);
    }
    assert_spread(&["'a'".to_owned(), "'ab'".to_owned()], 1);
    assert_spread(&["7".to_owned()], 0);
}

/// Four letters that rise with `number`.
fn letters(number: u32) -> String {
    let letter = |digit: u32| char::from(b'a' + (digit % 26) as u8);
    [number / 26 / 26, number / 26, number].map(letter).iter().collect()
}

#[test]
fn of_keys_that_cannot_be_compared_the_ends_are_picked() {
    let pick = |keys: &[&str]| {
        picked(&keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
            .into_iter()
            .map(|(key, _)| key)
            .collect::<Vec<_>>()
    };
    let (five, text) = (StoredKey::Integer(5), StoredKey::Text(b"x".to_vec()));
    assert_eq!(pick(&["5", "6", "'a'", "'x'"]), [five, text]);
    assert_eq!(pick(&[]), []);
    assert_eq!(pick(&["NULL", "NULL"]), []);
    assert_eq!(pick(&["1.5", "7"]), [StoredKey::Unfit]);
    assert_eq!(pick(&["7", "x'00'"]), [StoredKey::Unfit]);
}
