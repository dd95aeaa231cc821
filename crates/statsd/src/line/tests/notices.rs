//! What an event and a check are, field by field, and what is shown of keys that are counted.

use super::{Transcript, read};
use crate::flavour::Flavour;
use crate::line::LineReader;

#[test]
fn every_field_of_an_event_is_taken_over() {
    let line = "_e{5,6}:title|a\\nb|c|d:12|h:web1|k:key|p:low|s:source|t:error|#a:1,b|x:y";
    let event = "Event(Event { title: \"title\", text: \"a\\nb|c\", time: Some(12), \
                 host: \"web1\", aggregation_key: \"key\", priority: \"low\", \
                 source: \"source\", alert: \"error\", tags: \"a:1,b\" })";
    assert_eq!(read(Flavour::Native, line), [event]);
    let plain = "Event(Event { title: \"a\", text: \"\", time: None, host: \"\", \
                 aggregation_key: \"\", priority: \"\", source: \"\", alert: \"\", \
                 tags: \"\" })";
    assert_eq!(read(Flavour::Native, "_e{1,0}:a|"), [plain], "what is not said is empty");
}

#[test]
fn every_field_of_a_check_is_taken_over() {
    for status in 0..4 {
        let line = format!("_sc|db.up|{status}|d:5|h:web1|x:y|#a:1,b|m:go\\nne|away|e:x|c:y");
        let check = format!(
            "Check(ServiceCheck {{ name: \"db.up\", status: {status}, time: Some(5), \
             host: \"web1\", tags: \"a:1,b\", message: \"go\\nne|away\" }})"
        );
        assert_eq!(read(Flavour::Native, &line), [check]);
    }
    let plain = "Check(ServiceCheck { name: \"a\", status: 0, time: None, host: \"\", \
                 tags: \"\", message: \"\" })";
    for line in ["_sc|a|0", "_sc|a|0|", "_sc|a|0|m:", "_sc|a|0|m:c:1"] {
        let said = read(Flavour::Native, line);
        let message = if line.ends_with("c:1") { "message: \"c:1\"" } else { "message: \"\"" };
        assert_eq!(said, [plain.replace("message: \"\"", message)], "{line}");
    }
}

#[test]
fn an_event_whose_lengths_do_not_fit_its_text_is_bad() {
    for line in
        ["_e{1,1}:a|bc", "_e{1,1}:a|bc|d:1", "_e{1,2}:a|b", "_e{2,1}:a|b", "_e{1,1}:a|b|d:x"]
    {
        assert_eq!(read(Flavour::Native, line), ["bad notice"], "{line}");
    }
}

/// What is told of a datagram where keys are counted, in lines.
fn counted(flavour: Flavour, datagram: &str) -> Vec<String> {
    let mut told = Transcript::default();
    LineReader::new(flavour).counting_keys().read(datagram.as_bytes(), &mut told);
    told.0
}

#[test]
fn where_keys_are_counted_each_line_shows_its_key_once_however_it_is_read() {
    for flavour in [Flavour::Native, Flavour::Statsd, Flavour::Perl] {
        let told = counted(flavour, "a:1|c\nb:2|ms|@0.5\nc:1|c:2|c\n");
        let keys: Vec<&String> = told.iter().filter(|said| said.starts_with("key ")).collect();
        assert_eq!(keys, ["key a ", "key b ", "key c "], "{flavour:?}");
        let told = read(flavour, "a:1|c\nb:2|ms|@0.5");
        assert!(told.iter().all(|said| !said.starts_with("key ")), "{told:?}");
    }
    assert_eq!(counted(Flavour::Native, "a:1|c|#t:v"), ["key a;t=v ", "c a;t=v 1"]);
}

#[test]
fn keys_that_are_not_cleaned_come_through_as_they_are() {
    let mut told = Transcript::default();
    let line = "a b/c$:1|c|#x:y z";
    LineReader::new(Flavour::Statsd).leaving_keys().read(line.as_bytes(), &mut told);
    assert_eq!(told.0, ["c a b/c$;x=y z 1"]);
}
