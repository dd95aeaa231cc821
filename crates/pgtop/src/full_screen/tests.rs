//! Keys on invented frames: what is asked, what is signalled, what is drawn.

use screen::{Input, Key, Style, drawn};

use super::*;
use crate::frame::{PgFrame, PgSession, QueryIdentity, SessionClient};
use crate::signal::{SignalKind, SignalOutcome};
use crate::{PgView, SessionFilter};

fn session(pid: i32, start_s: i64, query: &str) -> PgSession {
    let query_start_us = Some(start_s * 1_000_000);
    PgSession {
        identity: QueryIdentity { pid, backend_start_us: 5, query_start_us },
        client: SessionClient {
            user: "ann".to_owned(),
            database: "shop".to_owned(),
            ..SessionClient::default()
        },
        state: "active".to_owned(),
        kind: "client backend".to_owned(),
        query: query.to_owned(),
        ..PgSession::default()
    }
}

fn screen(now_s: i64, sessions: Vec<PgSession>) -> TopScreen {
    let view = PgView::Running;
    let mut screen = TopScreen::new(TopOptions {
        names: vec!["db1".to_owned()],
        view,
        order: view.order(),
        filter: SessionFilter::default(),
        has_header: true,
        delay_s: 5.0,
        slow_threshold_s: 60.0,
        records: false,
        is_replay: false,
        settings: "delay 5".to_owned(),
        unrecorded: None,
        size: (100, 16),
        time_of_day: |time_us| {
            let seconds = time_us / 1_000_000;
            format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
        },
    });
    show(&mut screen, now_s, sessions);
    screen
}

fn show(screen: &mut TopScreen, now_s: i64, sessions: Vec<PgSession>) {
    let frame = Box::new(PgFrame { time_us: now_s * 1_000_000, sessions, ..PgFrame::default() });
    screen.apply(TopEvent::Frame { tab: 0, frame, is_full: true });
}

/// Presses keys; returns what was asked for at the end. `\n` is Enter.
fn press(screen: &mut TopScreen, keys: &str) -> Option<TopAction> {
    let mut action = None;
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            '\x1b' => Key::Escape,
            '\x7f' => Key::EraseLine,
            character => Key::Char(character),
        };
        action = screen.apply(TopEvent::Input(Input::Key(key)));
    }
    action
}

fn text(screen: &TopScreen, columns: usize, rows: u16) -> String {
    drawn(Style { width: columns, ..Style::default() }, rows, |pane| screen.draw(pane))
}

fn pids(action: Option<TopAction>) -> Vec<i32> {
    match action {
        Some(TopAction::Signal { kind: SignalKind::Cancel, victims, .. }) => {
            victims.iter().map(|victim| victim.identity.pid).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_signal_is_for_the_query_on_the_screen_when_its_key_was_pressed() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 1")]);
    press(&mut screen, "k");
    // The session has begun its next query meanwhile.
    show(&mut screen, 101, vec![session(7, 100, "SELECT 2")]);
    let Some(TopAction::Signal { victims, .. }) = press(&mut screen, "\n") else { panic!() };
    assert_eq!(victims[0].identity.query_start_us, Some(10_000_000));
    assert_eq!(victims[0].query, "SELECT 1");
    // What is typed takes the place of what was filled in.
    assert_eq!(press(&mut screen, "k99\n"), None);
    assert!(text(&screen, 80, 16).contains("no session `99` was on the screen"));
}

#[test]
fn all_slow_queries_are_cancelled_after_a_list_a_typed_count_and_a_yes_for_writers() {
    let all = vec![
        session(1, 99, "SELECT young"),
        session(2, 50, "SELECT old"),
        session(3, 40, "UPDATE t SET a = 1"),
    ];
    let mut screen = screen(100, all);
    press(&mut screen, "K\x7f29\n");
    assert!(text(&screen, 80, 16).contains("at least 30 seconds"));
    press(&mut screen, "K\x7f30\n");
    let list = text(&screen, 80, 16);
    assert!(list.contains("to be cancelled: 2"), "{list}");
    assert!(list.contains("50 s  ann       shop       SELECT old"), "{list}");
    assert!(list.contains("60 s  ann       shop       WRITES UPDATE t SET a = 1"), "{list}");
    assert!(list.contains("type 2 to cancel these queries: _"), "{list}");
    assert_eq!(press(&mut screen, "1\n"), None);
    assert!(text(&screen, 80, 16).contains("nothing is cancelled"));

    press(&mut screen, "K\x7f30\n2\n");
    assert!(text(&screen, 80, 16).contains("1 may write. Cancel them, too? yes, no: _"));
    assert_eq!(press(&mut screen, "perhaps\n"), None);
    assert_eq!(pids(press(&mut screen, "no\n")), [2]);
    press(&mut screen, "K\x7f30\n2\n");
    assert_eq!(pids(press(&mut screen, "yes\n")), [2, 3]);
    press(&mut screen, "K\x7f30\n");
    assert_eq!(press(&mut screen, "\x1b"), None);
    assert!(text(&screen, 80, 16).contains("nothing is done"));
}

#[test]
fn a_session_is_ended_only_after_its_query_was_cancelled() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 1")]);
    press(&mut screen, "Xyes");
    assert!(text(&screen, 80, 16).contains("cancel it first"));
    // What is typed after it presses no keys.
    assert_eq!(press(&mut screen, "\n"), None);
    let Some(TopAction::Signal { victims, .. }) = press(&mut screen, "k\n") else { panic!() };
    let results = vec![(victims[0].clone(), SignalOutcome::Signalled)];
    screen.apply(TopEvent::Signalled { tab: 0, kind: SignalKind::Cancel, results });
    assert_eq!(press(&mut screen, "Xno\n"), None);
    let action = press(&mut screen, "Xyes\n");
    assert!(matches!(action, Some(TopAction::Signal { kind: SignalKind::Terminate, .. })));
    // Another query of the session is not the one that was cancelled.
    show(&mut screen, 101, vec![session(7, 100, "SELECT 2")]);
    press(&mut screen, "X");
    assert!(text(&screen, 80, 16).contains("cancel it first"));
}

#[test]
fn a_query_is_said_to_be_cancelled_only_once_it_is_gone() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 1")]);
    press(&mut screen, "k");
    assert!(text(&screen, 100, 16).contains("ann, 90 s, `SELECT 1`: cancel the query of Id: 7_"));
    let Some(TopAction::Signal { victims, .. }) = press(&mut screen, "\n") else { panic!() };
    let results = vec![(victims[0].clone(), SignalOutcome::Signalled)];
    screen.apply(TopEvent::Signalled { tab: 0, kind: SignalKind::Cancel, results });
    assert!(text(&screen, 80, 16).contains("7 signalled"));
    show(&mut screen, 101, vec![session(7, 10, "SELECT 1")]);
    assert!(text(&screen, 80, 16).contains("7 signalled; still runs; X ends the session"));
    show(&mut screen, 102, vec![session(7, 102, "SELECT 2")]);
    assert!(text(&screen, 80, 16).contains("7 cancelled"));
}

#[test]
fn a_session_that_runs_nothing_can_be_ended_and_a_hidden_one_is_said_to_be_hidden() {
    let mut idle = session(7, 10, "BEGIN");
    idle.state = "idle in transaction".to_owned();
    let mut screen = screen(100, vec![idle]);
    assert_eq!(press(&mut screen, "k\n"), None);
    assert!(text(&screen, 80, 16).contains("no query runs there; X ends the session"));
    let action = press(&mut screen, "Xyes\n");
    assert!(matches!(action, Some(TopAction::Signal { kind: SignalKind::TerminateIdle, .. })));

    let mut hidden = session(8, 10, "<insufficient privilege>");
    hidden.state = String::new();
    show(&mut screen, 101, vec![hidden]);
    let header = "active: -  idle in xact: -  waiting: -  idle: -  Slow: -";
    assert!(text(&screen, 100, 16).contains(header));
    for keys in ["k\n", "e", "f", "K\n"] {
        assert_eq!(press(&mut screen, keys), None);
        assert!(text(&screen, 100, 16).contains("hidden: GRANT pg_monitor"), "{keys}");
    }
    press(&mut screen, "2");
    assert!(text(&screen, 100, 16).contains("nothing to show; 1 sessions are hidden"));
}

#[test]
fn a_paste_presses_no_keys() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 1")]);
    let paste = |screen: &mut TopScreen, text: &str| {
        screen.apply(TopEvent::Input(Input::Paste(text.to_owned())))
    };
    assert_eq!(paste(&mut screen, "k\n"), None);
    assert!(!text(&screen, 80, 16).contains("cancel the query"));
    press(&mut screen, "/");
    paste(&mut screen, "/select 2/");
    press(&mut screen, "\n");
    assert!(text(&screen, 80, 16).contains("nothing to show"));
}

#[test]
fn the_selected_session_stays_selected_and_a_slow_one_is_bold() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 7"), session(8, 90, "SELECT 8")]);
    screen.apply(TopEvent::Input(Input::Key(Key::Down)));
    let frame = vec![session(9, 1, "SELECT 9"), session(7, 10, "SELECT 7"), session(8, 90, "S 8")];
    show(&mut screen, 101, frame);
    let Some(TopAction::WholeText(_, victim)) = press(&mut screen, "f") else { panic!() };
    assert_eq!(victim.identity.pid, 8);
    let list = screen.list();
    let inks: Vec<screen::Ink> = list.rows.iter().map(|row| row.ink).collect();
    assert_eq!(inks, [::screen::Ink::Slow, ::screen::Ink::Slow, screen::Ink::Second]);
}

#[test]
fn any_size_will_do_and_every_view_is_drawn() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT '\x1b[31m', 1")]);
    for (key, view) in PgView::KEYS.chars().zip(PgView::ALL) {
        press(&mut screen, &key.to_string());
        assert_eq!(screen.view(), view, "{key}");
        for (columns, rows) in [(1, 1), (20, 3), (20, 24), (80, 24), (200, 50)] {
            let resized = Input::Resized(columns as u16, rows);
            screen.apply(TopEvent::Input(resized));
            let text = text(&screen, columns, rows);
            assert!(!text.contains('\x1b'), "{text}");
        }
    }
    press(&mut screen, "1");
    assert!(text(&screen, 80, 12).contains("? keys  q quit"));
    let text = text(&screen, 20, 12);
    assert!(text.contains("SELECT") && text.contains("[1 running]"), "{text}");
}

fn waiting(pid: i32, class: &str, event: &str) -> PgSession {
    let wait = Some((class.to_owned(), event.to_owned())).filter(|_| class != "CPU");
    PgSession { wait, ..session(pid, 1, "SELECT 1") }
}

#[test]
fn waits_have_a_clock_a_legend_and_say_which_span_they_show() {
    let mut screen = screen(3590, vec![waiting(1, "Lock", "tuple"), waiting(2, "CPU", "")]);
    for now_s in 3591..3610 {
        show(&mut screen, now_s, vec![waiting(1, "Lock", "tuple"), waiting(2, "CPU", "")]);
    }
    press(&mut screen, "6");
    screen.apply(TopEvent::Input(Input::Resized(80, 24)));
    let wide = text(&screen, 80, 24);
    assert!(wide.contains("\nactive sessions, last 74 s, 1 s a column, by class\n"), "{wide}");
    assert!(wide.contains("\nC CPU  L Lock\n"), "{wide}");
    // Each time stands below the bar that begins then: the newest, at the right, is 01:00:09.
    let axis = wide.lines().position(|line| line.contains('┬')).unwrap();
    let lines: Vec<&str> = wide.lines().skip(axis).take(2).collect();
    assert_eq!(lines[1].find("01:00:00"), Some(80 - 10));
    assert_eq!(lines[1].find("00:59:50"), Some(80 - 20));
    assert_eq!(lines[0].chars().nth(80 - 10), Some('┬'));
    assert!(wide.contains("class in the whole chart"), "{wide}");
    press(&mut screen, "<<");
    assert!(text(&screen, 80, 24).contains("class at 01:00:08"));
    screen.apply(TopEvent::Input(Input::Resized(40, 24)));
    let narrow = text(&screen, 40, 24);
    assert!(narrow.contains("\nlast 34 s, 1 s a column, by class\n"), "{narrow}");
    assert!(narrow.contains("\n          00:59:40  00:59:50  01:00:00\n"), "{narrow}");
    press(&mut screen, ">>zzzp");
    let hour = text(&screen, 40, 24);
    assert!(hour.contains("\n34 min to 01:01:00, 60 s a column, by c"), "{hour}");
    assert!(hour.contains("\n         00:30     00:40     00:50\n"), "{hour}");
}

#[test]
fn a_class_has_its_letter_colour_and_place_whatever_else_waits() {
    let drawn = |sessions: Vec<PgSession>| {
        let mut screen = screen(100, sessions);
        press(&mut screen, "6");
        text(&screen, 80, 30)
    };
    let stack = |text: &str| -> String {
        text.lines().filter_map(|line| line.chars().nth(79)).filter(|it| *it != '─').collect()
    };
    let lock = |pid| waiting(pid, "Lock", "tuple");
    let file = |pid| waiting(pid, "IO", "DataFileRead");
    let some = stack(&drawn(vec![lock(1), lock(2), file(3)]));
    let others = stack(&drawn(vec![lock(1), file(2), file(3), waiting(4, "Newer", "one")]));
    // From the top down: locks above files, though the one or the other is more frequent.
    assert_eq!(some, "LLLLLLLIII");
    assert_eq!(others, "??LLLIIIII");
}

#[test]
fn a_server_that_has_gone_is_said_to_be_gone_since_when_and_figures_to_be_old() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 7")]);
    let lost = |screen: &mut TopScreen, now_s: i64| {
        screen.apply(TopEvent::Time(now_s * 1_000_000));
        let reason = "no route; connecting again in 0.3 s".to_owned();
        screen.apply(TopEvent::Lost { tab: 0, what: "GONE", reason });
    };
    lost(&mut screen, 102);
    lost(&mut screen, 107);
    let gone = text(&screen, 80, 16);
    let header = "db1  GONE since 00:01:42, for 5 s; figures are of 00:01:40\n";
    assert!(gone.contains(header), "{gone}");
    assert!(gone.contains("GONE: no route; connecting again in 0.3 s"), "{gone}");
    press(&mut screen, "H");
    assert!(text(&screen, 80, 16).contains("GONE since 00:01:42, for 5 s: no route"));
    show(&mut screen, 110, vec![session(7, 10, "SELECT 7")]);
    assert!(!text(&screen, 80, 16).contains("GONE"));
}

#[test]
fn a_message_goes_after_some_seconds_and_one_about_a_line_stays_with_it() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 7")]);
    let at = |screen: &mut TopScreen, now_s: i64| {
        screen.apply(TopEvent::Time(now_s * 1_000_000));
        text(screen, 80, 16)
    };
    press(&mut screen, "@");
    assert!(at(&mut screen, 1000).contains("that is for recordings"));
    assert!(at(&mut screen, 1005).contains("that is for recordings"));
    assert!(!at(&mut screen, 1006).contains("that is for recordings"));
    screen.apply(TopEvent::Failed("no room".to_owned()));
    assert!(at(&mut screen, 1010).contains("no room"));
    assert!(at(&mut screen, 1029).contains("no room"));
    assert!(!at(&mut screen, 1030).contains("no room"));
    press(&mut screen, "a\x7fx\n");
    assert!(at(&mut screen, 1100).contains("`x` is no number of seconds"));
    assert!(at(&mut screen, 1200).contains("`x` is no number of seconds"));
}

#[test]
fn all_keys_are_to_be_seen_in_24_rows_and_q_closes_them_without_leaving() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 7")]);
    screen.apply(TopEvent::Input(Input::Resized(80, 24)));
    press(&mut screen, "?");
    let help = text(&screen, 80, 24);
    for (key, what) in keys::KEYS {
        assert!(help.contains(key) && help.contains(what), "{what}: {help}");
    }
    assert_eq!(press(&mut screen, "q"), None);
    assert!(text(&screen, 80, 24).contains("SELECT 7"));
    // In a narrow terminal they are one column, to be moved through.
    screen.apply(TopEvent::Input(Input::Resized(40, 24)));
    press(&mut screen, "?");
    let help = text(&screen, 40, 24);
    assert!(help.contains("keys  1 to 17 of 30, PgDn, PgUp"));
    assert!(!help.contains("quit; in a text"), "{help}");
    screen.apply(TopEvent::Input(Input::Key(Key::PageDown)));
    let help = text(&screen, 40, 24);
    assert!(help.contains("14 to 30 of 30") && help.contains("quit; in a text"), "{help}");
    // Beyond the end there is nothing to come back from.
    (0..5).for_each(|_| drop(screen.apply(TopEvent::Input(Input::Key(Key::PageDown)))));
    screen.apply(TopEvent::Input(Input::Key(Key::Up)));
    assert!(text(&screen, 40, 24).contains("13 to 29 of 30"));
    assert_eq!(press(&mut screen, "q"), None);
    assert_eq!(press(&mut screen, "q"), Some(TopAction::Quit));
}

#[test]
fn a_query_can_be_read_in_40_columns_and_in_80() {
    let query = "SELECT id, name FROM customer WHERE id = 4711";
    let mut waiter = waiting(2, "Lock", "transactionid");
    waiter.query = query.to_owned();
    waiter.client.address = "192.168.100.200".to_owned();
    waiter.blocked = Some(crate::frame::BlockedSession {
        blockers: vec![1],
        lock: "transactionid ShareLock".to_owned(),
        start_us: None,
    });
    let mut screen = screen(100, vec![session(1, 10, "BEGIN"), waiter]);
    for key in "1234".chars() {
        press(&mut screen, &key.to_string());
        for (columns, least) in [(40, 15), (80, 31), (130, query.len())] {
            let shown = text(&screen, columns, 20);
            let wanted = if key == '3' { "BEGIN" } else { &query[..least] };
            assert!(shown.contains(wanted), "view {key}: {shown}");
            assert!(shown.contains("Id"), "view {key}: {shown}");
        }
    }
    press(&mut screen, "1");
    let shown = text(&screen, 80, 20);
    assert!(shown.contains("Lock:transactionid") && !shown.contains("192.168"), "{shown}");
}

#[test]
fn what_a_role_may_not_do_is_said_before_it_is_tried() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 7")]);
    let mut frame = PgFrame { time_us: 101_000_000, ..PgFrame::default() };
    frame.sessions = vec![session(7, 10, "SELECT 7")];
    frame.server.rights = "for k K X, e: GRANT pg_signal_backend TO \"w\"".to_owned();
    frame.missing = vec!["queries of 3 sessions are hidden".to_owned()];
    screen.apply(TopEvent::Frame { tab: 0, frame: Box::new(frame), is_full: true });
    let shown = text(&screen, 80, 16);
    assert!(shown.contains("\n for k K X, e: GRANT pg_signal_backend TO \"w\"\n"), "{shown}");
    press(&mut screen, "D");
    let settings = text(&screen, 80, 16);
    for wanted in ["delay 5", "queries of 3 sessions are hidden", "for k K X, e: GRANT"] {
        assert!(settings.contains(wanted), "{settings}");
    }
}

#[test]
fn that_signals_are_recorded_nowhere_is_said_once_before_the_first() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT 7")]);
    screen.options.unrecorded = Some("signals are recorded nowhere".to_owned());
    assert!(!text(&screen, 80, 16).contains("recorded nowhere"));
    press(&mut screen, "k");
    let asked = text(&screen, 80, 16);
    assert!(asked.contains("recorded nowhere") && asked.contains("cancel the query"), "{asked}");
    press(&mut screen, "\x1bk");
    assert!(!text(&screen, 80, 16).contains("recorded nowhere"));
}

#[test]
fn frames_of_large_views_are_kept_in_smaller_number() {
    let mut screen = screen(100, Vec::new());
    press(&mut screen, "5");
    for second in 101..110 {
        let mut frame = PgFrame { time_us: second * 1_000_000, ..PgFrame::default() };
        let rows = vec![vec![crate::SqlScalar::Null]; 20_000];
        let grid = crate::Grid { columns: vec!["queryid".to_owned()], rows };
        frame.grids.insert("statements".to_owned(), grid);
        screen.apply(TopEvent::Frame { tab: 0, frame: Box::new(frame), is_full: true });
    }
    press(&mut screen, ",,");
    assert!(text(&screen, 80, 16).contains("PAUSED 2 back"));
    press(&mut screen, ",");
    assert!(text(&screen, 80, 16).contains("no frame there is kept"));
}

#[test]
fn paused_it_steps_back_through_the_frames_that_were_shown() {
    let mut screen = screen(100, vec![session(7, 10, "SELECT first")]);
    show(&mut screen, 101, vec![session(7, 100, "SELECT second")]);
    press(&mut screen, ",");
    assert!(text(&screen, 80, 16).contains("SELECT first"));
    assert!(text(&screen, 80, 16).contains("PAUSED 1 back"));
    show(&mut screen, 102, vec![session(7, 101, "SELECT third")]);
    assert!(text(&screen, 80, 16).contains("SELECT first"));
    press(&mut screen, "..");
    assert!(text(&screen, 80, 16).contains("SELECT third"));
    press(&mut screen, ",,p");
    assert!(text(&screen, 80, 16).contains("SELECT third"));
}

#[test]
fn branches_of_the_lock_tree_go_on_and_a_blocker_counts_all_behind_it() {
    let blocked = |pid: i32, by: i32| {
        let mut session = session(pid, 10, "UPDATE t");
        session.blocked = Some(crate::frame::BlockedSession {
            blockers: vec![by],
            ..crate::frame::BlockedSession::default()
        });
        session
    };
    let all = vec![session(1, 10, "BEGIN"), blocked(2, 1), blocked(3, 1), blocked(4, 2)];
    let mut screen = screen(100, all);
    press(&mut screen, "4");
    let tree = text(&screen, 100, 16);
    for line in ["\n1 ", "\n├ 2 ", "\n│ └ 4 ", "\n└ 3 "] {
        assert!(tree.contains(line), "{tree}");
    }
    // JSON has no drawing.
    let json = screen.list().json();
    let facts = |at: usize| [&json[at]["Id"], &json[at]["depth"], &json[at]["blocked_by"]];
    let plain: Vec<String> =
        (0..4).map(|at| facts(at).map(ToString::to_string).join(" ")).collect();
    assert_eq!(plain, ["1 0 []", "2 1 [1]", "4 2 [2]", "3 1 [1]"]);
    press(&mut screen, "3");
    let list = screen.list();
    let rows: Vec<Vec<&str>> = list
        .rows
        .iter()
        .map(|row| [0, 5, 6, 7].iter().map(|at| row.cells[*at].text.as_str()).collect())
        .collect();
    assert_eq!(rows, [["1", "2", "3", ""], ["2", "1", "1", "1"]]);
}
