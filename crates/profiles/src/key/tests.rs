//! The hash is stable: a file built last week is looked up today.

use super::*;

#[test]
fn plain_key_is_the_id_itself() {
    assert_eq!(&*UserKey::Plain.of(b"a'b\0"), b"a'b\0");
}

#[test]
fn hashed_key_depends_on_salt_and_user_and_stays_the_same() {
    let key = |salt: &str, user: &[u8]| {
        String::from_utf8(UserKey::hash(salt).of(user).into_owned()).unwrap()
    };
    assert_eq!(key("2026", b"user-1"), "983deceb6b0ea1c5deb9a9aaf99fcf7c");
    assert_ne!(key("2026", b"user-1"), key("2027", b"user-1"));
    assert_ne!(key("2026", b"user-1"), key("2026", b"user-2"));
    assert_eq!(key("", b"").len(), 32);
}

#[test]
fn mark_tells_keyings_apart_without_showing_the_salt() {
    assert_eq!(UserKey::Plain.mark(), "plain");
    let mark = UserKey::hash("secret").mark();
    assert_ne!(mark, UserKey::hash("other").mark());
    assert!(!mark.contains("secret") && !format!("{:?}", UserKey::hash("secret")).contains("sec"));
}
