//! Claims about lines that are edited.

use super::{CHARACTERS_MAX, EntryLine};
use crate::pane::drawn;
use crate::style::Style;
use crate::terminal::Key;

#[test]
fn keys_edit_at_the_cursor() {
    let mut line = EntryLine::new("stazus");
    for key in [Key::Left, Key::Left, Key::Backspace, Key::Char('t'), Key::End, Key::Char('é')] {
        line.key(key);
    }
    assert_eq!(line.text(), "statusé");
    for key in [Key::Home, Key::Delete, Key::Delete] {
        line.key(key);
    }
    assert_eq!(line.text(), "atusé");
    for key in [Key::Right, Key::Right, Key::EraseLine, Key::Char('S')] {
        line.key(key);
    }
    assert_eq!(line.text(), "Susé");
}

#[test]
fn a_paste_is_bounded_and_has_no_control_characters() {
    let line = EntryLine::new(&"a\n\u{1b}".repeat(CHARACTERS_MAX + 5));
    assert_eq!(line.text(), "a".repeat(CHARACTERS_MAX));
}

#[test]
fn the_cursor_is_seen_in_any_width() {
    let mut line = EntryLine::new("status >= 500");
    let shown = |line: &EntryLine, width| {
        drawn(Style { width, ..Style::default() }, 1, |pane| line.draw(pane, 0, "/"))
    };
    assert_eq!(shown(&line, 30), "/status >= 500_\n");
    assert_eq!(shown(&line, 8), "/>= 500_\n");
    line.key(Key::Home);
    assert_eq!(shown(&line, 8), "/_statu…\n");
}
