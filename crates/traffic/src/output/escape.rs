//! Makes bytes from clients fit to be shown on a terminal.
//!
//! Control characters, bytes that are not UTF-8, and marks of direction are written as `\xNN`, byte
//! by byte. Whatever else there is stays, also backslashes, so text without these is as it was.

/// Appends `text`, escaped.
pub(crate) fn escape(text: &[u8], out: &mut Vec<u8>) {
    let plain = text.iter().take_while(|byte| (0x20..0x7f).contains(*byte)).count();
    out.extend_from_slice(&text[..plain]);
    for chunk in text[plain..].utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut bytes = [0; 4];
            let bytes = character.encode_utf8(&mut bytes).as_bytes();
            if is_hidden(character) {
                hexadecimal(bytes, out);
            } else {
                out.extend_from_slice(bytes);
            }
        }
        hexadecimal(chunk.invalid(), out);
    }
}

fn hexadecimal(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        let digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
        out.extend_from_slice(&[b'\\', b'x', digits[0], digits[1]]);
    }
}

/// As `screen` hides them.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}'
            | '\u{2029}' | '\u{2066}'..='\u{2069}')
}
