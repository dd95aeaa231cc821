//! Claims about what becomes of lines where the disk takes some of them, by one file whose answers
//! are known.

use super::*;

/// A file that answers the next appends as it is told, and then as it would.
struct ToldFile {
    file: Arc<dyn DiskFile>,
    answers: Mutex<VecDeque<io::Result<usize>>>,
    can_be_cut: bool,
}

impl DiskFile for ToldFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        match self.answers.lock().pop_front() {
            Some(Ok(0)) => Ok(0),
            Some(answer) => self.file.append(&bytes[..answer?]),
            None => self.file.append(bytes),
        }
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        if self.can_be_cut { self.file.truncate(length) } else { Err(io::Error::other("made")) }
    }

    fn start_writing(&self, offset: u64, length: u64) {
        self.file.start_writing(offset, length);
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }
}

/// A writer with a segment from offset 6 on, whose file answers so.
fn told(answers: Vec<io::Result<usize>>, can_be_cut: bool) -> (FaultyDisk, Writer, Lane) {
    let (disk, mut writer) = fixture();
    let lane = Lane::new(writer.parts.intake.clone());
    lane.append(|out| out.extend_from_slice(b"first")).unwrap();
    writer.round();
    writer.leave();
    let mut active = writer.create().unwrap();
    let answers = Mutex::new(answers.into());
    active.file = Arc::new(ToldFile { file: active.file, answers, can_be_cut });
    writer.active = Some(active);
    (disk, writer, lane)
}

#[test]
fn what_the_disk_takes_in_pieces_or_after_an_interruption_is_written_once_and_without_an_alarm() {
    for answers in [
        vec![Ok(3)],
        vec![Ok(7), Ok(1)],
        vec![Ok(9), Ok(2)],
        vec![Err(io::ErrorKind::Interrupted.into()), Ok(5), Err(io::ErrorKind::Interrupted.into())],
    ] {
        let name = format!("{answers:?}");
        let (disk, mut writer, lane) = told(answers, true);
        for line in ["second", "third"] {
            lane.append(|out| out.extend_from_slice(line.as_bytes())).unwrap();
        }
        writer.round();
        let file = disk.open_read(&Segment::plain(6).path(Path::new("/journal"))).unwrap();
        let mut text = [0; 20];
        let length = file.read_at(&mut text, 0).unwrap();
        assert_eq!(text[..length], *b"second\nthird\n", "{name}");
        assert_eq!((writer.offset, writer.retry_at.is_some()), (19, false), "{name}");
        assert_eq!(writer.parts.alarms.write.text(), None, "{name}");
    }
}

#[test]
fn where_an_append_fails_whole_lines_count_the_torn_one_waits_and_the_file_is_left_if_at_fault() {
    use io::ErrorKind::{Other, StorageFull};

    let cases = [
        (vec![Err(Other)], true, 0, 0, false),
        (vec![Err(StorageFull)], true, 0, 0, true),
        (vec![Ok(0)], true, 0, 0, false),
        (vec![Ok(7), Ok(0)], true, 7, 7, false),
        (vec![Ok(9), Err(Other)], true, 7, 7, false),
        (vec![Ok(9), Err(StorageFull)], true, 7, 7, true),
        (vec![Ok(9), Err(StorageFull)], false, 7, 9, false),
        // There is nothing to cut.
        (vec![Ok(7), Err(StorageFull)], false, 7, 7, true),
    ];
    for (answers, can_be_cut, written, length, is_kept) in cases {
        let name = format!("{answers:?}, cut: {can_be_cut}");
        let answers = answers.into_iter().map(|it| it.map_err(io::Error::from)).collect();
        let (disk, mut writer, lane) = told(answers, can_be_cut);
        let tickets = ["second", "third"]
            .map(|line| lane.append_durable(|out| out.extend_from_slice(line.as_bytes())));
        writer.round();
        let found = disk.metadata(&Segment::plain(6).path(Path::new("/journal"))).unwrap();
        assert_eq!((writer.offset, found.len), (6 + written, length), "{name}");
        assert_eq!(writer.active.is_some(), is_kept, "{name}");
        assert_eq!(writer.parts.counters.bytes.load(Ordering::Relaxed), 6 + written, "{name}");
        let waiting = writer.parts.counters.pending.load(Ordering::Relaxed);
        assert_eq!(waiting, if written > 0 { 1 } else { 2 }, "{name}");
        let alarm = writer.parts.alarms.write.text().unwrap();
        assert!(alarm.starts_with("write segment `00000000000000000006.log`: "), "{alarm}");
        assert!(!writer.parts.intake.is_recording(), "{name}");
        let is_promised = answers_of(tickets).map(|answer| answer.is_none());
        assert_eq!(is_promised, [written > 0, false], "{name}");
        writer.retry_at = Some(Instant::now());
        writer.round();
        assert_eq!((writer.offset, writer.parts.intake.is_recording()), (19, true), "{name}");
    }
}

/// What tickets say by now.
fn answers_of<const N: usize>(tickets: [crate::Ticket; N]) -> [Option<Result<u64, Unrecorded>>; N] {
    tickets.map(|mut ticket| {
        match Pin::new(&mut ticket).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        }
    })
}

#[test]
fn each_ticket_says_the_end_of_its_line_whatever_lanes_and_segments_it_went_through() {
    let (_, mut writer) = fixture();
    writer.rotation.bytes_max = 10;
    let [one, two] = [(); 2].map(|()| Lane::new(writer.parts.intake.clone()));
    let append =
        |lane: &Lane, line: &str| lane.append_durable(|out| out.extend_from_slice(line.as_bytes()));
    let tickets = [
        append(&one, "1234"),
        append(&one, "12345678"),
        append(&two, "123"),
        append(&two, "12345678901234567890"),
        append(&two, "1"),
    ];
    writer.round();
    writer.parts.durable.close();
    let mut segments = Vec::new();
    while let Some(job) = writer.parts.durable.next_job() {
        segments.push(job.start..job.end);
        writer.parts.durable.succeeded(&job);
        if writer.parts.durable.synced() == writer.offset {
            break;
        }
    }
    assert_eq!(answers_of(tickets), [5, 14, 18, 39, 41].map(|end| Some(Ok(end))));
    assert_eq!(segments, [0..5, 5..14, 14..18, 18..39, 39..41]);
}

#[test]
fn a_segment_takes_lines_up_to_its_bound_and_a_longer_line_alone() {
    let (disk, mut writer) = fixture();
    writer.rotation.bytes_max = 10;
    let lane = Lane::new(writer.parts.intake.clone());
    for line in ["1234", "1234", "1", "12345678901234567890", "12", "123456"] {
        lane.append(|out| out.extend_from_slice(line.as_bytes())).unwrap();
        writer.round();
    }
    let segments = crate::segment::list(&disk, Path::new("/journal")).unwrap();
    let starts: Vec<_> = segments.iter().map(|segment| segment.start).collect();
    assert_eq!((starts, writer.offset), (vec![0, 10, 12, 33], 43));
}

#[test]
fn lines_that_cannot_be_written_as_the_journal_closes_are_counted_and_their_tickets_fail() {
    let (disk, mut writer) = fixture();
    let lane = Lane::new(writer.parts.intake.clone());
    lane.append(|out| out.extend_from_slice(b"first")).unwrap();
    writer.round();
    // The session with its mark, one more line, and a byte.
    disk.set_capacity(Some(2 * 63 + 6 + 7 + 1));
    let tickets = ["second", "third", "fourth"]
        .map(|line| lane.append_durable(|out| out.extend_from_slice(line.as_bytes())));
    writer.finish();
    assert_eq!((writer.offset, writer.active.is_none()), (13, true));
    assert_eq!(writer.parts.counters.lost_at_close.load(Ordering::Relaxed), 2);
    assert_eq!(writer.parts.intake.unrecorded(), 2);
    let failed = Some(Err(Unrecorded::NotSynced));
    assert_eq!(answers_of(tickets), [None, failed, failed]);
}
