//! Claims about `schema`: which columns make a table one of profiles, and which flags are set.

use super::*;

fn detect(columns: &str) -> Result<Layout, String> {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(&format!("CREATE TABLE user_profiles ({columns})")).unwrap();
    let layout = Layout::detect(&connection, &Schema::default(), Path::new("p.db"));
    layout.map_err(|error| error.to_string())
}

#[test]
fn a_key_alone_or_a_flag_alone_is_no_layout() {
    for columns in ["user_id PRIMARY KEY, has", "user PRIMARY KEY, has_profile", "data, other"] {
        let refusal = detect(columns).unwrap_err();
        let found = columns.replace(" PRIMARY KEY", "");
        assert!(refusal.contains(&format!("has columns {found}; a profile file")), "{refusal}");
    }
    for (columns, key, flag, data) in [
        ("profile_id PRIMARY KEY", "\"profile_id\"", "1", "NULL"),
        ("Profile_ID PRIMARY KEY, DATA", "\"profile_id\"", "1", "\"data\""),
        ("user_id PRIMARY KEY, has_profile", "\"user_id\"", "\"has_profile\"", "NULL"),
        ("user_id, has_profile, profile_id PRIMARY KEY", "\"profile_id\"", "1", "NULL"),
    ] {
        let layout = detect(columns).unwrap();
        assert_eq!((&*layout.key, &*layout.flag, &*layout.data), (key, flag, data), "{columns}");
    }
}

#[test]
fn a_flag_is_set_unless_it_says_no() {
    for unset in ["NULL", "0", "0.0", "''", "'0'", "'false'", "'FALSE'", "x''", "x'30'"] {
        assert!(!flag(unset), "{unset}");
    }
    for set in ["1", "-1", "0.5", "'1'", "'00'", "'no'", "'true'", "x'00'"] {
        assert!(flag(set), "{set}");
    }
}

fn flag(value: &str) -> bool {
    let connection = Connection::open_in_memory().unwrap();
    let sql = format!("SELECT {value}");
    connection.query_row(&sql, [], |row| Ok(is_set(row.get_ref(0)?))).unwrap()
}
