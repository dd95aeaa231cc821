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
        size: (100, 16),
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
    press(&mut screen, "3");
    let list = screen.list();
    let rows: Vec<Vec<&str>> = list
        .rows
        .iter()
        .map(|row| [0, 5, 6, 7].iter().map(|at| row.cells[*at].text.as_str()).collect())
        .collect();
    assert_eq!(rows, [["1", "2", "3", ""], ["2", "1", "1", "1"]]);
}
