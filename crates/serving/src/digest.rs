//! What tells the content of a file from others': the version of a model that has no other.

use std::io::{self, Read};

use twox_hash::XxHash3_128;

/// Returns sixteen hexadecimal digits of what is read, part by part: weights can be as large as the
/// memory.
///
/// # Errors
/// Those of reading.
pub(crate) fn digest(mut content: impl Read) -> io::Result<String> {
    let mut hash = XxHash3_128::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match content.read(&mut part)? {
            0 => return Ok(format!("{:016x}", (hash.finish_128() >> 64) as u64)),
            count => hash.write(&part[..count]),
        }
    }
}
