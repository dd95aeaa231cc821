//! Tests of the module `config_file`.

use super::*;

#[test]
fn the_sample_of_pgtop_loads() {
    let text = "delay=5\nhost=localhost\ndb=test\nuser=postgres\npass=\nport=5432\n";
    let config = TopConfig::parse(Path::new("rc"), text).unwrap();
    assert_eq!(config.delay_s, Some(5.0));
    let address = config.connection.resolve(&ConnectionSettings::default(), &|_| None).unwrap();
    assert_eq!(address.to_string(), "localhost:5432/test");
}

#[test]
fn all_wrong_lines_come_out_at_once_with_file_and_line_and_without_the_password() {
    let text = "pass = geheim\nport = many\nnonsense\n# a note\nheader = perhaps\ndelay = 0.1\n\
                mode = x\nfilter_db = /(/\nslow_threshold = -1\n";
    let Err(error) = TopConfig::parse(Path::new("/home/a/.pgtop"), text) else { panic!() };
    assert_eq!(
        error.to_string(),
        "/home/a/.pgtop:2: `port` is 1 to 65535\n\
         /home/a/.pgtop:3: expected `key = value`\n\
         /home/a/.pgtop:5: `header` is 0 or 1, not `perhaps`\n\
         /home/a/.pgtop:6: a delay is 0.2 to 86400 seconds, not `0.1`\n\
         /home/a/.pgtop:7: `mode` is running, waiting, blocking, locks, statements, waits, io, \
         replication, progress, databases, tables, indexes or writes, not `x`\n\
         /home/a/.pgtop:8: `filter_db`: `/(/`: error: unclosed group\n\
         /home/a/.pgtop:9: `slow_threshold` is a number of seconds, not `-1`"
    );
}

#[test]
fn every_key_of_pgtop_is_taken_and_unknown_ones_are_named() {
    let text = "DELAY = 2\nhost = db1:7\nslack_webhook = http://127.0.0.1/x\nslow_threshold = 9\n\
                filter_user = /a/\nfilter_db=b\nfilter_host=c\nmode = waits\nsort = 1\ncolor=0\n\
                idle=0\nheader=0\nprompt=1\nbatchmode=1\nlong_nums=1\nqueries=7\n\
                socket=/run/x/.s.PGSQL.5433\nport=5432\n";
    let config = TopConfig::parse(Path::new("rc"), text).unwrap();
    assert_eq!((config.delay_s, config.slow_threshold_s), (Some(2.0), Some(9.0)));
    assert_eq!((config.is_batch, config.has_header), (Some(true), Some(false)));
    assert_eq!((config.has_colour, config.shows_idle), (Some(false), Some(false)));
    assert_eq!((config.asks_password, config.ascends), (Some(true), Some(true)));
    assert_eq!(config.view, Some(PgView::Waits));
    let filters = config.filters.each_ref().map(|it| it.as_ref().map(FieldMatch::shown));
    assert_eq!(filters, ["/a/", "b", "c"].map(|it| Some(it.to_owned())));
    assert_eq!(config.notes.len(), 2, "{:?}", config.notes);
    let address = config.connection.resolve(&ConnectionSettings::default(), &|_| None).unwrap();
    assert_eq!(address.to_string(), "/run/x:5433/test");
}
