//! Claims about the full-screen view: what it shows after which events.

use std::ops::ControlFlow;
use std::time::Duration;

use screen::{Input, Key, Style, drawn};

use super::listing::KEPT_MAX;
use super::{FullScreen, Replayed, ScreenAction, ScreenEvent, ScreenOptions};
use crate::limits::WatchCounts;
use crate::owned::OwnedExchange;
use crate::watch::{WatchOptions, watch_exchanges};
use crate::{InputFormat, OutputOptions};

const WIDE: Style = Style { width: 100, colour: false, ascii: false };

const JOURNAL: &str = concat!(
    r#"{"time":"2026-11-21T03:54:12.123456Z","id":"4bf92f3577b34da6a3ce929d0e0e4736","#,
    r#""method":"GET","scheme":"https","host":"news.example","path":"/1/list.json","#,
    r#""query":"place=Antwerp","version":"1.1","status":200,"bytes_in":0,"bytes_out":1840,"#,
    r#""client_ip":"192.0.2.24","user_agent":"curl/8","route":"/1/list.{format:json}","#,
    r#""decision":"personalised","cache":"miss","upstream":"model:news","#,
    r#""ranked_by":"00000000000000000000000000000007","#,
    r#""phases":{"lookup":3,"features":40,"score":700,"respond":5},"total_us":1001}"#,
    "\n",
    r#"{"time":"2026-11-21T03:54:13.000001Z","method":"POST","host":"news.example","#,
    r#""path":"/\u001b[2J\u202e","version":"1.1","status":503,"bytes_in":3,"bytes_out":0,"#,
    r#""client_ip":"192.0.2.25","route":"/{*rest}","decision":"generic","cache":"none","#,
    r#""total_us":1500000}"#,
    "\n"
);

/// The exchanges of a text.
fn exchanges(text: &str, options: WatchOptions) -> Vec<OwnedExchange> {
    let mut found = Vec::new();
    let keep = |exchange| {
        found.push(exchange);
        ControlFlow::Continue(())
    };
    watch_exchanges(text.as_bytes(), options, keep, |_| ControlFlow::Continue(())).unwrap();
    found
}

fn screen_of(text: &str) -> FullScreen {
    let options = ScreenOptions { source: "data/journal".to_owned(), has_secrets: false };
    let mut screen = FullScreen::new(options, 12);
    let input_format = Some(InputFormat::Tidegate);
    add(&mut screen, exchanges(text, WatchOptions { input_format, ..WatchOptions::default() }));
    screen
}

fn add(screen: &mut FullScreen, exchanges: Vec<OwnedExchange>) {
    for exchange in exchanges {
        screen.apply(ScreenEvent::Exchange(Box::new(exchange)));
    }
}

fn access(lines: impl Iterator<Item = u32>) -> Vec<OwnedExchange> {
    let line = |number: u32| {
        format!(
            "time:2026-11-21T03:54:12Z\turi:/{number}\tstatus:200\tvhost:a\treqtime:0.0{}\n",
            number % 9 + 1
        )
    };
    exchanges(&lines.map(line).collect::<String>(), WatchOptions::default())
}

fn press(screen: &mut FullScreen, keys: &[Key]) -> Option<ScreenAction> {
    let mut action = None;
    for key in keys {
        action = screen.apply(ScreenEvent::Input(Input::Key(*key)));
    }
    screen.apply(ScreenEvent::Tick(Duration::from_secs(1)));
    action
}

fn enter(screen: &mut FullScreen, text: &str) -> Option<ScreenAction> {
    screen.apply(ScreenEvent::Input(Input::Paste(text.to_owned())));
    press(screen, &[Key::Enter])
}

fn shown(screen: &FullScreen, style: Style, rows: u16) -> String {
    drawn(style, rows, |pane| screen.draw(pane))
}

#[test]
fn the_list_shows_the_newest_and_follows_them() {
    let screen = screen_of(JOURNAL);
    let wanted = r"
[1 list] 2 detail  3 top  4 histogram  5 heat map   ? keys  q quit
data/journal  2 exchanges  2 shown  0/s  0 dropped  0 over limit
  time↑        client          method path               status cache     decision                ms
  03:54:12.123 192.0.2.24      GET    /1/list.json?plac… 200    miss      personalised         1.001
  03:54:13.000 192.0.2.25      POST   /\x1b[2J\xe2\x80\… 503    none      generic           1500.000


";
    assert_eq!(shown(&screen, WIDE, 7), wanted[1..]);
    let narrow = Style { width: 20, ascii: true, ..WIDE };
    let wanted = "\
[1 list] 2 detail  ~
data/journal  2 exc~
  path        status
  /\\x1b[2J\\x~ 503

";
    assert_eq!(shown(&screen, narrow, 5), wanted);
}

#[test]
fn what_was_seen_stays_when_the_source_ends() {
    let mut screen = screen_of(JOURNAL);
    screen.apply(ScreenEvent::Ended("the source has ended".to_owned()));
    let text = shown(&screen, WIDE, 8);
    assert!(text.contains("ENDED") && text.contains("the source has ended; q quits"), "{text}");
    assert_eq!(press(&mut screen, &[Key::Char('q')]), Some(ScreenAction::Quit));
    assert_eq!(press(&mut screen, &[Key::Interrupt]), Some(ScreenAction::Quit));
}

#[test]
fn detail_shows_everything_with_phases_as_bars() {
    let mut screen = screen_of(JOURNAL);
    press(&mut screen, &[Key::Up, Key::Enter]);
    let replayed =
        Replayed { number: 0, address: "127.0.0.1:8080".to_owned(), outcome: Ok((404, 2_500)) };
    screen.apply(ScreenEvent::Answered(replayed));
    let text = shown(&screen, Style { width: 80, ..WIDE }, 40);
    let wanted = "\
GET /1/list.json?place=Antwerp HTTP/1.1
time          2026-11-21 03:54:12.123 UTC
client        192.0.2.24
host          news.example
status        200 OK
cache         miss
decision      personalised
total         1.001 ms
sent          1,840 bytes
received      0 bytes
route         /1/list.{format:json}
upstream      model:news
id            4bf92f3577b34da6a3ce929d0e0e4736
ranked by     00000000000000000000000000000007
model took    0.740 ms
replay        404 in 2.500 ms from 127.0.0.1:8080; before 200 in 1.001 ms
phases
  lookup          0.003 ms    0.30 %  █
  features        0.040 ms     4.0 %  ██
  score           0.700 ms      70 %  █████████████████████████████
  respond         0.005 ms    0.50 %  █
headers of the request
  Host: news.example
  User-Agent: curl/8
";
    assert!(text.contains(wanted), "{text}");
}

#[test]
fn a_waiter_leads_to_its_fetch_and_that_to_its_waiters() {
    let line = |second: u32, id: u32, more: &str| {
        let head = format!(r#"{{"time":"2026-11-21T03:54:{second:02}Z","id":"{id:032x}","#);
        head + &format!(r#""method":"GET","path":"/{id}","status":200{more}}}"#) + "\n"
    };
    let waiter =
        format!(r#","cache":"collapsed","fetched_by":"{:032x}","phases":{{"wait":90}}"#, 7);
    let text = [
        line(1, 7, r#","cache":"miss","phases":{"fetch":90,"queue":40}"#),
        line(2, 8, &waiter),
        line(3, 9, &waiter),
        line(4, 10, ""),
    ];
    let mut screen = screen_of(&text.concat());
    press(&mut screen, &[Key::Up, Key::Enter]);
    let style = Style { width: 80, ..WIDE };
    let text = shown(&screen, style, 40);
    assert!(text.contains("fetched by    00000000000000000000000000000007, w shows it"), "{text}");
    press(&mut screen, &[Key::Char('w')]);
    let text = shown(&screen, style, 40);
    assert!(text.contains("fetched for   2 exchanges that waited, w lists them"), "{text}");
    assert!(text.contains("queued        0.040 ms of it for a free worker or thread"), "{text}");
    press(&mut screen, &[Key::Char('w')]);
    let text = shown(&screen, style, 12);
    assert!(text.contains("[1 list]") && text.contains("4 exchanges  2 shown"), "{text}");
    press(&mut screen, &[Key::Enter, Key::Char('w')]);
    // The filter leaves it out, and it is shown all the same.
    assert!(shown(&screen, style, 40).contains("fetched for   2 exchanges"));
}

#[test]
fn a_list_is_sorted_by_the_columns_beside_also_where_they_do_not_fit() {
    let mut screen = screen_of(JOURNAL);
    let narrow = Style { width: 40, ..WIDE };
    press(&mut screen, &[Key::Left]);
    assert!(shown(&screen, narrow, 8).contains("by bytes down"));
    press(&mut screen, &[Key::Left]);
    assert!(shown(&screen, narrow, 8).contains("by ms down"));
    press(&mut screen, &[Key::Right, Key::Right]);
    assert!(!shown(&screen, narrow, 8).contains(" by "));
}

#[test]
fn a_filter_selects_and_its_error_is_shown_in_place() {
    let mut screen = screen_of(JOURNAL);
    press(&mut screen, &[Key::Char('/')]);
    enter(&mut screen, "status >= ");
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("/status >= _"), "{text}");
    let error = text.lines().nth(10).unwrap();
    assert!(error.contains("filter"), "{text}");
    enter(&mut screen, "500");
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("1 shown") && text.contains("filter: status >= 500"), "{text}");
    assert_eq!(screen.counted().exchanges(), 1);
    assert_eq!(screen.tally().exchanges(), 2);
    press(&mut screen, &[Key::Char('/'), Key::Backspace, Key::Escape]);
    assert_eq!(screen.counted().exchanges(), 1, "Esc changes nothing");
    let mut keys = vec![Key::Char('/')];
    keys.extend([Key::Backspace; 20]);
    keys.push(Key::Enter);
    press(&mut screen, &keys);
    assert_eq!(screen.counted().exchanges(), 2);
}

#[test]
fn a_pause_stops_the_list_and_not_the_counts() {
    let mut screen = screen_of(JOURNAL);
    press(&mut screen, &[Key::Char(' ')]);
    add(&mut screen, access(0..5));
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("PAUSED  7 exchanges  2 shown"), "{text}");
    press(&mut screen, &[Key::Char(' ')]);
    assert!(shown(&screen, WIDE, 12).contains("7 exchanges  7 shown"));
}

#[test]
fn the_newest_are_kept_and_the_rest_only_counted() {
    let mut screen = screen_of("");
    add(&mut screen, access(0..300));
    press(&mut screen, &[Key::Home, Key::Char('m'), Key::End, Key::Up, Key::Char('m')]);
    press(&mut screen, &[Key::Char('S')]);
    for _ in 0..40 {
        add(&mut screen, access(300..550));
    }
    press(&mut screen, &[Key::Char(' ')]);
    for _ in 0..50 {
        add(&mut screen, access(0..250));
    }
    assert_eq!(screen.listing.kept().count(), 2 * KEPT_MAX);
    press(&mut screen, &[Key::Char(' ')]);
    assert_eq!((screen.listing.count(), screen.listing.kept().count()), (KEPT_MAX, KEPT_MAX));
    assert_eq!(screen.tally().exchanges(), 300 + 10_000 + 12_500);
    press(&mut screen, &[Key::Char('M')]);
    assert_eq!(screen.listing.count(), 0, "marks go with their exchanges");
}

#[test]
fn sorting_keeps_the_selected_exchange() {
    let mut screen = screen_of("");
    add(&mut screen, access(0..50));
    press(&mut screen, &[Key::Home, Key::Down, Key::Down, Key::Char('m')]);
    let before = screen.current().unwrap().0;
    press(&mut screen, &[Key::Char('s'); 7]);
    assert_eq!(screen.listing.sort.title(), "ms");
    assert_eq!(screen.current().unwrap().0, before);
    let times: Vec<u64> = (0..screen.listing.count())
        .map(|row| screen.listing.row(row).unwrap().1.view().times.total_us.unwrap())
        .collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "{times:?}");
    press(&mut screen, &[Key::Char('S'), Key::Home, Key::Char('n')]);
    assert_eq!(screen.current().unwrap().0, before);
    press(&mut screen, &[Key::Char('f')]);
    assert_eq!(screen.current().unwrap().0, 49);
}

#[test]
fn top_histogram_and_heat_map_show_what_was_counted() {
    let mut screen = screen_of(JOURNAL);
    press(&mut screen, &[Key::Char('3')]);
    let text = shown(&screen, WIDE, 8);
    let wanted = "\
by [route] status  client  cache  decision  path  host
route                             count↓     share    errors       p50       p90       p99     bytes
/1/list.{format:json}                  1      50 %         0   1.00 ms   1.00 ms   1.00 ms      1.8k
/{*rest}                               1      50 %         1    1.50 s    1.50 s    1.50 s         0
";
    assert!(text.contains(wanted), "{text}");
    press(&mut screen, &[Key::Right, Key::Char('s')]);
    let text = shown(&screen, WIDE, 8);
    assert!(text.contains("[status]") && text.contains("errors↓"), "{text}");
    press(&mut screen, &[Key::Char('4')]);
    let text = shown(&screen, Style { width: 60, ..WIDE }, 14);
    let wanted = "\
route                    count       p50       p90       p99
(all)                        2   1.00 ms    1.50 s    1.50 s
/1/list.{format:jso…         1   1.00 ms   1.00 ms   1.00 ms
/{*rest}                     1    1.50 s    1.50 s    1.50 s
exchanges by latency; ▲ is p50, p90 and p99
     1                                                 1
  1 ┤█                                                 █
    │█                                                 █
    └┬───────────────┬──────────────┬───────────────┬───
   1 ms            10 ms         100 ms            1 s
     ▲                                                 ▲
";
    assert!(text.contains(wanted), "{text}");
    press(&mut screen, &[Key::Tab]);
    let text = shown(&screen, Style { width: 60, ..WIDE }, 20);
    let wanted = "
    1 s │    ████
        │
        │
 100 ms │
        │
        │
  10 ms │
        │
        │
   1 ms │████
         03:54:12 to 03:54:14, a column is 1.00 s
         darkest: 1 exchange
";
    assert!(text.contains(wanted), "{text}");
    let ascii = shown(&screen, Style { width: 60, ascii: true, ..WIDE }, 20);
    assert!(ascii.is_ascii() && ascii.contains("\n    1 s |    ####\n"), "{ascii}");
}

#[test]
fn every_view_is_drawn_in_any_size() {
    let mut screen = screen_of(JOURNAL);
    let views = ['1', '2', '3', '4', '5', '?', 'x'];
    for view in views {
        press(&mut screen, &[Key::Char(view)]);
        for (width, rows) in [(1, 1), (20, 5), (20, 3), (7, 50), (300, 2), (500, 90)] {
            for ascii in [false, true] {
                let text = shown(&screen, Style { width, ascii, ..WIDE }, rows);
                assert_eq!(text.lines().count(), usize::from(rows));
                assert!(text.lines().all(|line| screen::width_of(line) <= width), "{text}");
            }
        }
    }
}

#[test]
fn a_request_that_may_change_something_is_sent_after_a_yes_only() {
    let plain = JOURNAL.replace(r"/\u001b[2J\u202e", "/feedback");
    let mut screen = screen_of(&plain);
    press(&mut screen, &[Key::Char('r')]);
    assert_eq!(enter(&mut screen, "nowhere"), None);
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("`nowhere` is no HOST:PORT"), "{text}");
    press(&mut screen, &[Key::Escape, Key::Char('r')]);
    assert_eq!(enter(&mut screen, "127.0.0.1:80"), None);
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("send POST to 127.0.0.1:80, without a body? y"), "{text}");
    let mut refused = screen;
    let action = press(&mut refused, &[Key::Char('n')]);
    assert_eq!(action, None);
    press(&mut refused, &[Key::Char('r')]);
    enter(&mut refused, "127.0.0.1:80");
    let Some(ScreenAction::Replay(request)) = press(&mut refused, &[Key::Char('y')]) else {
        panic!("it is sent")
    };
    assert!(request.bytes.starts_with(b"POST /feedback HTTP/1.1\r\nHost: news.example\r\n"));
}

#[test]
fn a_paste_presses_no_keys() {
    let mut screen = screen_of(JOURNAL);
    assert_eq!(enter(&mut screen, "q"), None);
    assert!(shown(&screen, WIDE, 12).contains("[2 detail]"), "only Enter was pressed");
}

#[test]
fn what_is_lost_is_seen() {
    let mut screen = screen_of(JOURNAL);
    let counts = WatchCounts { lines: 9, unread: 4, over_limit: 3, ..WatchCounts::default() };
    screen.apply(ScreenEvent::Counts(Box::new(counts), 1234));
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("1,236 exchanges  2 shown  0/s  1,234 dropped  3 over limit"), "{text}");
    assert!(text.contains("4 not of the format, 3 given up at -L"), "{text}");
}

#[test]
fn a_server_that_has_gone_is_seen_until_it_is_back() {
    let mut screen = screen_of(JOURNAL);
    screen.apply(ScreenEvent::ServerGone(true));
    let text = shown(&screen, WIDE, 12);
    assert!(text.contains("GONE  2 exchanges"), "{text}");
    assert!(text.contains("the server has gone; it is asked again"), "{text}");
    screen.apply(ScreenEvent::ServerGone(false));
    assert!(!shown(&screen, WIDE, 12).contains("GONE"));
}

#[test]
fn secrets_are_shown_and_hidden_only_on_demand() {
    let capture = "*   << Request  >> 2\n-   Begin          req 1 rxreq\n\
        -   ReqMethod      GET\n-   ReqURL         /\n-   ReqHeader      Host: a\n\
        -   ReqHeader      Cookie: id=secret\n-   RespStatus     200\n-   End\n\n";
    for has_secrets in [false, true] {
        let output = OutputOptions { shows_secrets: has_secrets, ..OutputOptions::default() };
        let found = exchanges(capture, WatchOptions { output, ..WatchOptions::default() });
        let options = ScreenOptions { source: "x".to_owned(), has_secrets };
        let mut screen = FullScreen::new(options, 20);
        add(&mut screen, found);
        press(&mut screen, &[Key::Enter]);
        let text = shown(&screen, WIDE, 20);
        assert_eq!(text.contains("Cookie: id=secret"), has_secrets, "{text}");
        press(&mut screen, &[Key::Char('x')]);
        let text = shown(&screen, WIDE, 20);
        assert!(text.contains("Cookie: [redacted]"), "{text}");
        let Some(ScreenAction::Copy(curl)) = press(&mut screen, &[Key::Char('c')]) else {
            panic!("it is copied")
        };
        assert_eq!(curl, "curl -i --globoff --path-as-is 'http://a/'");
        assert!(shown(&screen, WIDE, 20).contains(&curl));
    }
}
