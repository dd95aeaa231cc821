//! Claims about the memory of windows.

use super::*;

#[test]
fn a_window_that_is_released_or_taken_without_memory_to_fill_again_keeps_none() {
    let mut window = window(RollupConfig { by: names(["path"]), ..RollupConfig::default() });
    let fill = |window: &mut Window| {
        for n in 0..1_000 {
            add(window, &line([("path", FieldValue::from(format!("/{n}")))]), 0);
        }
        window.take().next().unwrap()
    };
    let rows = fill(&mut window);
    assert_eq!((rows.len(), window.rows.cells.capacity()), (1_000, 0));
    let room = rows.cells.capacity();
    window.recycle(rows);
    let rows = fill(&mut window);
    assert!(window.rows.cells.capacity() >= room, "it is filled again");
    window.recycle(rows);
    window.release();
    assert_eq!((window.rows.cells.capacity(), window.index.capacity()), (0, 0));
    assert!(window.spare.is_none() && window.waiting.keys.capacity() == 0);
    assert_eq!(fill(&mut window).len(), 1_000);
}

#[test]
fn the_bytes_of_a_window_are_those_of_rows_keys_text_and_sketches() {
    let mut plain = window(RollupConfig { by: names(["path"]), ..RollupConfig::default() });
    let key = 4 + "/000".len();
    for n in 0..super::super::WAITING_MAX {
        add(&mut plain, &line([("path", FieldValue::from(format!("/{n:03}")))]), 0);
    }
    let row = 2 * size_of::<Flat>() + key + 30;
    assert_eq!(plain.bytes(), super::super::WAITING_MAX * row);
    let config = || RollupConfig { by: names(["path"]), ..RollupConfig::default() };
    let mut sketched = window(RollupConfig { unique: names(["user"]), ..config() });
    let mut before = 0;
    for n in 0..200 {
        let user = FieldValue::from(format!("user-{n}"));
        add(&mut sketched, &line([("path", text("/000")), ("user", user)]), 0);
        assert!(sketched.bytes() >= before.max(row), "{n}");
        before = sketched.bytes();
    }
    assert!(before > row + size_of::<super::super::Sketch>(), "values take memory: {before}");
    sketched.take().for_each(drop);
    assert_eq!(sketched.bytes(), 0);
}
