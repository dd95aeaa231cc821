//! Computes under which key a user stands in a profile file: the id itself, or a keyed hash of it.
//!
//! The hash is for installations that never write a user's id down. It is SipHash-2-4 with 128 bits
//! (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012), a pseudo-random function. Its
//! key is derived from the salt's text, which may have any length. Without the salt a file of keys
//! tells nothing about its ids. But a salt that is short enough to be guessed can be tried against
//! `mark`, which the file carries.
//! Invariant: key and mark of the same salt never change. Journals, rows in sinks and profile files
//! in use hold keys; profile files hold marks. The binary's `ports.rs` writes users into the
//! journal by this. `Debug` never prints the salt.
//! Never here: SQL, which is in `key_text.rs`; whether keyings fit, which is in `checks.rs`.

use std::borrow::Cow;
use std::fmt;

use siphasher::sip128::SipHasher24;

/// How a user's id becomes the key of a profile.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum UserKey {
    /// The id is the key. Files are exchangeable with Varnish.
    #[default]
    Plain,
    /// The key is a salted hash of the id in 32 lowercase hex digits.
    Hash(UserSalt),
}

/// What makes the hash of a user's id differ between installations.
#[derive(Clone, PartialEq, Eq)]
pub struct UserSalt(u64, u64);

impl UserKey {
    /// Returns the hashed keying by `salt`, which must be kept for as long as any file in use.
    pub fn hash(salt: &str) -> Self {
        let derived = SipHasher24::new().hash(salt.as_bytes());
        Self::Hash(UserSalt(derived.h1, derived.h2))
    }

    /// Returns the key of the profile of `user`.
    pub fn of<'u>(&self, user: &'u [u8]) -> Cow<'u, [u8]> {
        match self {
            Self::Plain => Cow::Borrowed(user),
            Self::Hash(salt) => Cow::Owned(salt.hex(user).to_vec()),
        }
    }

    /// Returns a text that is equal for equal keyings and does not give the salt away. A file
    /// carries it, so that one built under another salt is refused and not silently empty.
    pub fn mark(&self) -> String {
        match self {
            Self::Plain => "plain".to_owned(),
            Self::Hash(salt) => {
                let hex = salt.hex(b"tidegate users keyed by this salt");
                format!("hash:{}", String::from_utf8_lossy(&hex[..16]))
            }
        }
    }
}

impl fmt::Debug for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::Hash(_) => "Hash(..)",
        })
    }
}

impl UserSalt {
    fn hex(&self, user: &[u8]) -> [u8; 32] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let hash = SipHasher24::new_with_keys(self.0, self.1).hash(user).as_u128();
        std::array::from_fn(|at| DIGITS[(hash >> (124 - 4 * at) & 15) as usize])
    }
}

#[cfg(test)]
mod tests;
