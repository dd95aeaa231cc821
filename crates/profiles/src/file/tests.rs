//! Look-ups in files as others write them.

use super::*;

/// Writes a database of `sql` and returns its folder and path.
fn database(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profiles.db");
    Connection::open(&path).unwrap().execute_batch(sql).unwrap();
    (folder, path)
}

fn open(path: &Path) -> Result<ProfileFile, ProfilesError> {
    ProfileFile::open(path, &FileOptions::default(), None)
}

const PROFILES: &str = "
    CREATE TABLE user_profiles (profile_id char(100) PRIMARY KEY NOT NULL, data text);
    INSERT INTO user_profiles VALUES
        ('ann', '{\"affinity\":{\"b\":1},\"reads\":5,\"recent\":[\"1\"]}'),
        ('bob', NULL),
        ('eve', 'no json');";

const FLAGS: &str = "
    CREATE TABLE user_profiles (user_id char(100) PRIMARY KEY NOT NULL, has_profile boolean);
    INSERT INTO user_profiles VALUES ('ann', 1), ('bob', 0), ('eve', NULL), ('joe', 'true');";

#[test]
fn row_with_data_is_a_profile() {
    let (_folder, path) = database(PROFILES);
    let file = open(&path).unwrap();
    for user in ["ann", "bob", "eve"] {
        assert_eq!(file.lookup(user.as_bytes()), Lookup::Present, "{user}");
    }
    assert_eq!(file.lookup(b"joe"), Lookup::Absent);
    assert_eq!(file.data(b"ann").unwrap().feature("affinity.b"), Some(1.0));
    assert_eq!(file.data(b"bob"), Some(Profile::default()));
    assert_eq!(file.data(b"eve"), Some(Profile::default()));
    assert_eq!(file.data(b"joe"), None);
    assert_eq!(file.status().bad_data, 1);
}

#[test]
fn zero_and_null_flags_mean_none() {
    let (_folder, path) = database(FLAGS);
    let file = open(&path).unwrap();
    let check = |file: &ProfileFile| {
        assert_eq!(file.lookup(b"ann"), Lookup::Present);
        assert_eq!(file.lookup(b"joe"), Lookup::Present);
        assert_eq!(file.lookup(b"bob"), Lookup::Absent);
        assert_eq!(file.lookup(b"eve"), Lookup::Absent);
        assert_eq!(file.data(b"ann"), Some(Profile::default()));
        assert_eq!(file.data(b"bob"), None);
    };
    check(&file);
    file.verify(&Stop::default()).unwrap();
    check(&file);
}
