//! Claims about which sessions are remembered, and what they say.

use stdx::FaultyDisk;

use super::*;

/// The sessions after an opening, as start, id and end of what had been durable.
fn begun(disk: &FaultyDisk, extent: [u64; 3], now_us: u64) -> Vec<[u64; 3]> {
    let dir = Path::new("/journal");
    let [first, end, durable] = extent;
    let id = next_id(&read(disk, dir).unwrap(), now_us);
    let evidence = Evidence { durable, ..Evidence::default() };
    begin(disk, dir, &Extent { first, end, evidence }, id).unwrap();
    let sessions = read(disk, dir).unwrap();
    assert_eq!(sessions.last().unwrap().id, id);
    sessions.iter().map(|it| [it.start, it.id, it.durable]).collect()
}

#[test]
fn sessions_are_remembered_that_have_lines_or_say_a_loss() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new("/journal")).unwrap();
    assert_eq!(begun(&disk, [0, 0, 0], 100), [[0, 100, 0]]);
    assert_eq!(begun(&disk, [0, 50, 50], 200), [[0, 100, 0], [50, 200, 50]]);
    // Nothing was written since, so restarts leave one session, not many.
    assert_eq!(begun(&disk, [0, 50, 50], 300), [[0, 100, 0], [50, 300, 50]]);
    // The first segment was deleted, and the clock set back.
    assert_eq!(begun(&disk, [50, 80, 80], 250), [[50, 300, 50], [80, 301, 80]]);
    // The end is lost.
    assert_eq!(begun(&disk, [50, 60, 80], 400), [[50, 300, 50], [60, 400, 80]]);
    let said = [[50, 300, 50], [60, 400, 80], [60, 500, 80]];
    assert_eq!(begun(&disk, [50, 60, 80], 500), said);
    // Lines took the place of the lost ones; what was lost before stays known while they are kept.
    let after = [[50, 300, 50], [60, 400, 80], [60, 500, 80], [90, 600, 90]];
    assert_eq!(begun(&disk, [50, 90, 90], 600), after);
    assert_eq!(begun(&disk, [61, 90, 90], 700), [[60, 500, 80], [90, 700, 90]]);
}

#[test]
fn a_session_whose_lines_are_gone_with_the_end_says_so_at_the_new_end() {
    let disk = FaultyDisk::new(1);
    disk.create_dir_all(Path::new("/journal")).unwrap();
    begun(&disk, [0, 0, 0], 100);
    begun(&disk, [0, 50, 50], 200);
    assert_eq!(begun(&disk, [0, 30, 80], 300), [[0, 100, 0], [30, 200, 80], [30, 300, 80]]);
}

#[test]
fn the_loss_at_an_offset_is_the_longest_of_the_sessions_that_are_not_known_yet() {
    let session = |start, id, durable| Session { start, id, durable, ..Session::default() };
    let sessions = [session(0, 1, 0), session(30, 2, 80), session(30, 3, 60), session(90, 4, 90)];
    let lost = |at, known| lost_at(&sessions, at, known).map(|lost| (lost.to, lost.session));
    assert_eq!(lost(30, 0), Some((80, 3)));
    assert_eq!(lost(30, 2), Some((60, 3)));
    assert_eq!(lost(30, 3), None);
    assert_eq!(lost(31, 0), None);
    let before = |offset| before(&sessions, offset);
    assert_eq!(
        [0, 1, 30, 31, 90, 91].map(before),
        [None, Some(1), Some(1), Some(3), Some(3), Some(4)]
    );
}
