//! Claims about text by its width.

use super::*;

fn style(width: usize, ascii: bool) -> Style {
    Style { width, colour: false, ascii }
}

#[test]
fn text_is_cut_by_columns_and_marked() {
    let wide = style(80, false);
    assert_eq!(cut("resolve", 7, &wide), "resolve");
    assert_eq!(cut("resolve", 5, &wide), "reso…");
    assert_eq!(cut("日本語", 5, &wide), "日本…", "a wide character takes two columns");
    assert_eq!(cut("日本語", 4, &wide), "日…");
    assert_eq!(cut("resolve", 5, &style(80, true)), "reso~");
    assert_eq!(cut("resolve", 0, &wide), "");
}

#[test]
fn control_characters_never_reach_the_terminal() {
    assert_eq!(clean("a\x1b[2Jb\nc\u{202e}d"), "a?[2Jb?c?d");
    assert_eq!(cut("\x1b[31mred", 80, &style(80, false)), "?[31mred");
}

#[test]
fn ascii_terminals_get_ascii() {
    assert_eq!(cut("5 µs ± 1 – 2 ☃", 80, &style(80, true)), "5 us +- 1 - 2 ?");
}

#[test]
fn paragraphs_wrap_within_the_width_and_long_words_break() {
    for width in 20..60 {
        let text =
            "quantised: about 500 ms from tooth to tooth, abcdefghijklmnopqrstuvwxyz0123456789";
        let lines = wrapped(text, 2, &style(width, false));
        assert!(lines.iter().all(|line| width_of(line) <= width), "{lines:?}");
        let again: String = lines.concat().split_whitespace().collect();
        assert_eq!(again, text.split_whitespace().collect::<String>());
        assert!(lines[1..].iter().all(|line| line.starts_with("  ")), "{lines:?}");
    }
}
