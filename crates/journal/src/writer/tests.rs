//! Claims about the writer without its thread: each round is made by hand.

mod appends;

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use parking_lot::Mutex;
use stdx::{Disk, FaultyDisk, Lasting, Metadata};

use super::*;
use crate::backlog::Backlog;
use crate::dir::JournalDir;
use crate::lane::Lane;
use crate::sessions::{Evidence, Extent};

/// A writer at the beginning of an empty journal, and the disk.
fn fixture() -> (FaultyDisk, Writer) {
    let disk = FaultyDisk::new(1);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let path = Path::new("/journal");
    let mut options = Options::new(path);
    options.clock = Arc::new(disk.clock());
    let hold = Hold::take(shared.clone(), path).unwrap();
    hold.begin(path, &Extent { first: 0, end: 0, evidence: Evidence::default() }, 1);
    let dir = Arc::new(JournalDir::new(shared, path.to_owned()));
    let counters = Arc::new(Counters::default());
    let durable = Arc::new(Durable::new(options.sync, 0));
    let retention = Retention {
        dir: dir.clone(),
        durable: durable.clone(),
        keep: options.keep,
        clock: options.clock.clone(),
        backlog: Arc::new(Backlog::new(dir, counters.clone(), &options)),
    };
    let parts = WriterParts {
        intake: Arc::new(Intake::new(&options)),
        durable,
        retention: Arc::new(retention),
        bell: Arc::default(),
        counters,
        alarms: Arc::default(),
        hold: Arc::new(hold),
    };
    (disk, Writer::new(parts, &options, 0))
}

#[test]
fn whatever_keeps_a_segment_from_being_made_is_said_and_nothing_is_made_up() {
    let (disk, writer) = fixture();
    for nth in 1.. {
        let begun = disk.operations();
        disk.fail_nth(nth, Lasting::Once);
        let made = writer.create().map(drop);
        if disk.operations() < begun + nth {
            assert!(made.is_ok() && nth > 5);
            break;
        }
        let error = made.expect_err("the disk refused");
        assert!(error.ends_with("(os error 5)"), "operation {nth}: {error}");
    }
}

#[test]
fn a_segment_that_was_left_without_a_complete_line_is_made_anew() {
    let (disk, writer) = fixture();
    let left = disk.create(Path::new("/journal/00000000000000000000.log")).unwrap();
    left.append(b"torn").unwrap();
    assert_eq!(writer.create().unwrap().file.len().unwrap(), 0);
}

#[test]
fn a_torn_line_is_cut_away_and_written_again_once_it_is_time() {
    let (disk, mut writer) = fixture();
    let lane = Lane::new(writer.parts.intake.clone());
    let put = |line: &[u8]| lane.append(|out| out.extend_from_slice(line)).unwrap();
    put(b"first");
    writer.round();
    writer.leave();
    // The session with its mark, both whole lines, and two bytes.
    disk.set_capacity(Some(2 * 63 + 6 + 7 + 2));
    put(b"second");
    put(b"third");
    writer.round();
    let length = || disk.metadata(&Segment::plain(6).path(Path::new("/journal"))).unwrap().len;
    assert_eq!((writer.offset, length()), (13, 7));
    disk.set_capacity(None);
    writer.retry_at = writer.retry_at.map(|at| at + Duration::from_secs(3600));
    writer.round();
    assert_eq!((writer.offset, length()), (13, 7), "it is not time yet");
    writer.retry_at = Some(Instant::now());
    writer.round();
    assert_eq!((writer.offset, length()), (19, 13));
    assert!(writer.retry_at.is_none() && writer.parts.intake.is_recording());
}

#[test]
fn lanes_are_forgotten_once_they_are_dropped_and_written() {
    let (_, mut writer) = fixture();
    let [one, two] = [(); 2].map(|()| Lane::new(writer.parts.intake.clone()));
    let count = |writer: &Writer| writer.parts.intake.lanes().len();
    one.append(|out| out.extend_from_slice(b"last words")).unwrap();
    writer.round();
    assert_eq!((count(&writer), writer.offset), (2, 11));
    one.append(|out| out.extend_from_slice(b"more")).unwrap();
    drop(one);
    writer.round();
    assert_eq!((count(&writer), writer.offset), (1, 16));
    two.append(|out| out.extend_from_slice(b"second")).unwrap();
    writer.round();
    assert_eq!((count(&writer), writer.offset), (1, 23));
}

#[test]
fn a_ticket_of_a_line_that_still_waits_in_its_lane_fails_with_writing_and_the_line_stays() {
    let (_, mut writer) = fixture();
    let lane = Lane::new(writer.parts.intake.clone());
    let mut ticket = lane.append_durable(|out| out.extend_from_slice(b"waits"));
    writer.failing("made".to_owned());
    let mut context = Context::from_waker(Waker::noop());
    let answer = Pin::new(&mut ticket).poll(&mut context);
    assert_eq!(answer, Poll::Ready(Err(Unrecorded::NotSynced)));
    writer.retry_at = Some(Instant::now());
    writer.round();
    assert_eq!(writer.offset, 6);
}

#[test]
fn a_writer_sleeps_while_no_line_comes_or_none_can_be_written_whatever_the_lanes_have() {
    let (_, mut writer) = fixture();
    let lane = Lane::new(writer.parts.intake.clone());
    let mut sleeps = |is_failing: bool| {
        writer.retry_at = is_failing.then(Instant::now);
        writer.is_idle()
    };
    assert_eq!([false, true].map(&mut sleeps), [true; 2]);
    lane.append(|out| out.extend_from_slice(b"first")).unwrap();
    assert_eq!([false, true].map(sleeps), [false, true]);
}

#[test]
fn a_segment_is_given_as_many_lines_as_fit_and_one_at_least() {
    let fitting = |bytes_max| fitting(b"aa\nbbbb\ncc\n", bytes_max);
    let cases = [(0, 3), (2, 3), (3, 3), (7, 3), (8, 8), (10, 8), (11, 11), (99, 11)];
    assert_eq!(cases.map(|(bytes_max, _)| fitting(bytes_max)), cases.map(|(_, fits)| fits));
}

/// A file that notes what the disk is told to begin with; nothing else is asked of it.
#[derive(Default)]
struct Noted(Mutex<Vec<[u64; 2]>>);

impl DiskFile for Noted {
    fn start_writing(&self, offset: u64, length: u64) {
        self.0.lock().push([offset, length]);
    }

    fn append(&self, _: &[u8]) -> io::Result<usize> {
        unreachable!()
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        unreachable!()
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        unreachable!()
    }

    fn sync(&self) -> io::Result<()> {
        unreachable!()
    }

    fn len(&self) -> io::Result<u64> {
        unreachable!()
    }

    fn metadata(&self) -> io::Result<Metadata> {
        unreachable!()
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        unreachable!()
    }
}

#[test]
fn the_disk_is_told_to_begin_with_each_byte_once_in_pieces_that_are_worth_it() {
    let noted = Arc::new(Noted::default());
    let created = Instant::now();
    let mut active = ActiveSegment { file: noted.clone(), start: 0, created, writing: 0 };
    for length in [100_000, 262_143, 262_144, 400_000, 524_287, 600_000] {
        active.start_writing(length);
    }
    assert_eq!(*noted.0.lock(), [[0, 262_144], [262_144, 337_856]]);
}
