//! Recordings in real files, torn for real.

use tempfile::TempDir;

use super::*;
use crate::frame::PgSession;

fn frame(second: i64) -> PgFrame {
    let session = PgSession { query: format!("SELECT {second} \u{fffd}"), ..PgSession::default() };
    PgFrame { time_us: second * 1_000_000, sessions: vec![session], ..PgFrame::default() }
}

fn recorded(file: &Path) -> Vec<i64> {
    let mut seen = Vec::new();
    RecordedFrames::open(file, |frame| seen.push(frame.time_us / 1_000_000)).unwrap();
    seen
}

#[test]
fn frames_come_back_in_any_order_and_by_time() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a.pgtop");
    let mut recorder = FrameRecorder::open(&file, 1 << 20).unwrap();
    (1..=5).for_each(|second| recorder.push(&frame(second)).unwrap());
    let mut frames = RecordedFrames::open(&file, |_| {}).unwrap();
    assert_eq!((frames.count(0), frames.lost), (5, 0));
    for at in [4, 0, 2] {
        assert_eq!(frames.frame(0, at).unwrap(), frame(at as i64 + 1));
    }
    assert_eq!(frames.place_of(0, 3_999_999), 2);
    assert_eq!(frames.place_of(0, 0), 0);
    assert_eq!(frames.place_of(0, i64::MAX), 4);
}

#[test]
fn servers_in_one_recording_are_read_apart() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a.pgtop");
    let of = |name: &str, second: i64| {
        let mut frame = frame(second);
        frame.server.name = name.to_owned();
        frame
    };
    let mut recorder = FrameRecorder::open(&file, 1 << 20).unwrap();
    // The clock of the second is behind.
    let all = [("db1", 101), ("db2", 51), ("db1", 102), ("db2", 52), ("db2", 53)];
    all.iter().for_each(|(name, second)| recorder.push(&of(name, *second)).unwrap());
    let mut frames = RecordedFrames::open(&file, |_| {}).unwrap();
    assert_eq!((frames.count(0), frames.count(1), frames.lost), (2, 3, 0));
    assert_eq!(frames.frame(0, 1).unwrap(), of("db1", 102));
    assert_eq!(frames.frame(1, 1).unwrap(), of("db2", 52));
    assert_eq!((frames.place_of(0, 101_500_000), frames.place_of(1, 52_500_000)), (0, 1));
    for server in 0..200 {
        recorder.push(&of(&format!("other{server}"), 200)).unwrap();
    }
    assert_eq!(RecordedFrames::open(&file, |_| {}).unwrap().lost, 102);
}

#[test]
fn a_torn_tail_costs_one_frame_and_the_next_recording_cuts_it_off() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a.pgtop");
    let mut recorder = FrameRecorder::open(&file, 1 << 20).unwrap();
    (1..=3).for_each(|second| recorder.push(&frame(second)).unwrap());
    drop(recorder);
    let whole = fs::read(&file).unwrap();
    let mut two = RecordedFrames::open(&file, |_| {}).unwrap();
    let third = two.places[2].1 as usize;
    two.frame(0, 1).unwrap();
    for end in third + 1..whole.len() {
        fs::write(&file, &whole[..end]).unwrap();
        assert_eq!(recorded(&file), [1, 2], "cut at {end} of {}", whole.len());
    }
    assert_eq!(RecordedFrames::open(&file, |_| {}).unwrap().lost, 1);
    let mut recorder = FrameRecorder::open(&file, 1 << 20).unwrap();
    recorder.push(&frame(4)).unwrap();
    assert_eq!(recorded(&file), [1, 2, 4]);
}

#[test]
fn a_recording_is_bounded_and_keeps_the_newest_frames() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a.pgtop");
    let mut recorder = FrameRecorder::open(&file, 4000).unwrap();
    (1..=100).for_each(|second| recorder.push(&frame(second)).unwrap());
    let bytes = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(bytes(&file) + bytes(&older(&file)) <= 4000);
    let seen = recorded(&file);
    assert_eq!(seen.last(), Some(&100));
    assert!(seen.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{seen:?}");
}

#[test]
fn a_file_that_is_no_recording_is_not_touched() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("letter.txt");
    fs::write(&file, "dear all").unwrap();
    assert!(matches!(FrameRecorder::open(&file, 4000), Err(RecordError::Empty(_))));
    assert!(matches!(RecordedFrames::open(&file, |_| {}), Err(RecordError::Empty(_))));
    assert_eq!(fs::read_to_string(&file).unwrap(), "dear all");
}

#[test]
fn a_damaged_frame_in_the_middle_costs_itself_alone_and_a_second_recorder_is_refused() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a.pgtop");
    let mut recorder = FrameRecorder::open(&file, 1 << 20).unwrap();
    (1..=5).for_each(|second| recorder.push(&frame(second)).unwrap());
    let second = FrameRecorder::open(&file, 1 << 20).err().unwrap();
    assert!(stdx::Chain(&second).to_string().contains("another pgtop records to it"));
    drop(recorder);
    let places = RecordedFrames::open(&file, |_| {}).unwrap().places;
    let mut bytes = fs::read(&file).unwrap();
    for place in [places[1].1 as usize + 30, places[3].1 as usize] {
        bytes[place] ^= 0xff;
    }
    fs::write(&file, &bytes).unwrap();
    assert_eq!(recorded(&file), [1, 3, 5]);
    assert_eq!(RecordedFrames::open(&file, |_| {}).unwrap().lost, 2);
    let mut recorder = FrameRecorder::open(&file, 1 << 20).unwrap();
    recorder.push(&frame(6)).unwrap();
    assert_eq!(recorded(&file), [1, 3, 5, 6]);
}
