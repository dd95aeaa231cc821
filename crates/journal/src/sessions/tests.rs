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

/// What is read of a file with this text.
fn read_text(text: &str) -> (Vec<Session>, bool) {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    disk.create_dir_all(dir).unwrap();
    disk.create(&dir.join(NAME)).unwrap().append(text.as_bytes()).unwrap();
    read_all(&disk, dir).unwrap()
}

/// A line of the file.
fn padded(text: &str) -> String {
    format!("{text:<62}\n")
}

#[test]
fn sessions_are_read_with_their_marks_and_what_is_no_line_of_theirs_is_passed_over() {
    let old = Session { start: 50, id: 20, durable: 60, ..Session::default() };
    let whole = Session { is_marked: true, ..old.clone() };
    let doubt = Session { in_doubt: true, ..whole.clone() };
    let former = Session { former: vec![7, 8], ..whole.clone() };
    let line = lines(&old);
    assert_eq!(read_text(&line), (vec![old.clone()], true));
    for session in [&whole, &doubt, &former] {
        assert_eq!(read_text(&lines(session)), (vec![session.clone()], true));
        // One mark is enough, and a later one takes nothing back.
        let more = lines(session) + &padded(&format!("mark {:020} whole", 20));
        assert_eq!(read_text(&more), (vec![session.clone()], true));
    }
    let garbage = padded("garbage");
    let foreign = padded(&format!("mark {:020} doubt", 21));
    let torn = &line[..40];
    for (text, expected) in [
        (garbage.clone() + &line, vec![old.clone()]),
        (line.clone() + &foreign, vec![old.clone()]),
        (foreign + &line, vec![old.clone()]),
        (line.clone() + torn, vec![old.clone()]),
        (garbage + &lines(&former) + "?", vec![former]),
    ] {
        assert_eq!(read_text(&text), (expected, false), "{text}");
    }
    let earlier = Session { start: 40, id: 30, ..Session::default() };
    let (sorted, _) = read_text(&(line + &lines(&earlier)));
    assert_eq!(sorted, [earlier, old], "they come by their offsets");
}

#[test]
fn the_session_of_a_byte_is_known_for_certain_only_where_the_whole_file_is_sound() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    disk.create_dir_all(dir).unwrap();
    begun(&disk, [0, 0, 0], 100);
    begun(&disk, [0, 50, 50], 200);
    let of_byte = |at| of_byte(&disk, dir, at).unwrap();
    assert_eq!([0, 49, 50, 51].map(of_byte), [Some(100), Some(100), Some(200), Some(200)]);
    disk.open_append(&dir.join(NAME)).unwrap().append(b"?").unwrap();
    assert_eq!(of_byte(50), None);
}

#[test]
fn a_loss_has_a_length_for_the_journal_that_had_the_lines_or_where_an_older_version_says_it() {
    let loss = |former: &[u64], is_marked, in_doubt| {
        let former = former.to_vec();
        LossBefore { to: 90, session: 30, in_doubt, former, is_marked }
    };
    let cases = [
        (loss(&[7, 8], true, false), [Some(90), None, None], [true, false]),
        (loss(&[7, 8], true, true), [None; 3], [true, false]),
        (loss(&[], true, false), [None; 3], [true; 2]),
        (loss(&[], false, false), [Some(90); 3], [true; 2]),
        (loss(&[], false, true), [None; 3], [true; 2]),
    ];
    for (loss, lengths, is_of) in cases {
        assert_eq!([Some(8), Some(9), None].map(|id| loss.to_for(id)), lengths, "{loss:?}");
        assert_eq!([8, 9].map(|id| loss.is_of(id)), is_of, "{loss:?}");
    }
}

#[test]
fn what_several_sessions_say_of_one_offset_is_put_together() {
    let marked = |id, durable| Session { start: 30, id, durable, is_marked: true, ..old(0) };
    fn old(id: u64) -> Session {
        Session { start: 30, id, durable: 40, ..Session::default() }
    }
    let doubt = Session { in_doubt: true, ..marked(3, 0) };
    let sessions = [old(1), Session { former: vec![7], ..marked(2, 80) }, doubt, marked(4, 50)];
    let found = lost_at(&sessions, 30, 0).unwrap();
    let (to, session, in_doubt, is_marked) = (80, 4, true, true);
    assert_eq!(found, LossBefore { to, session, in_doubt, is_marked, former: vec![7] });
    let found = lost_at(&sessions[..1], 30, 0).unwrap();
    assert!(!found.is_marked && !found.in_doubt);
}

#[test]
fn a_session_in_doubt_without_a_line_is_remembered_and_marks_are_kept() {
    let disk = FaultyDisk::new(1);
    let dir = Path::new("/journal");
    disk.create_dir_all(dir).unwrap();
    let begin = |id, in_doubt, former: &[u64]| {
        let evidence = Evidence { durable: 50, in_doubt, former: former.to_vec() };
        begin(&disk, dir, &Extent { first: 0, end: 50, evidence }, id).unwrap();
        read(&disk, dir).unwrap()
    };
    let first = begin(1, true, &[7]).remove(0);
    assert_eq!((first.in_doubt, first.is_marked, &first.former), (true, true, &vec![7]));
    let both = begin(2, false, &[]);
    assert_eq!(both[0], first);
    assert_eq!((both[1].id, both[1].in_doubt, both[1].is_marked), (2, false, true));
    // The second one has neither lines nor a loss.
    let ids: Vec<_> = begin(3, false, &[]).iter().map(|session| session.id).collect();
    assert_eq!(ids, [1, 3]);
}

#[test]
fn a_limit_names_its_session_and_all_before_it_newest_first_and_sixteen_at_most() {
    let known = [
        Session { id: 10, former: vec![40, 5], ..Session::default() },
        Session { id: 20, ..Session::default() },
    ];
    assert_eq!(named(30, &known, &[5, 6]), [40, 30, 20, 10, 6, 5]);
    let many: Vec<_> = (1..=20).map(|id| Session { id, ..Session::default() }).collect();
    assert_eq!(named(21, &many, &[]), Vec::from_iter((6..=21).rev()));
}
