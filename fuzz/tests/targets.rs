//! Every fuzz target, run by the engine without instruments from a fixed seed: a quarter of a
//! million executions or three seconds, whichever comes first. `cargo xtask fuzz` takes longer.

use std::io::{self, Write};
use std::time::Duration;

use fuzz::random;

const SEED: u64 = 0x7464_6174;
const EXECUTIONS: u64 = 250_000;
const TIME: Duration = Duration::from_secs(3);

fn hold(name: &str) {
    let target = fuzz::find(name).expect("a target of that name");
    let done = random::run(target, SEED, EXECUTIONS, TIME);
    // Past the capture of the test runner: how much was tried is what a reader wants to know.
    drop(writeln!(io::stdout(), "target `{name}`: {done} executions"));
    assert!(done as usize > target.corpus().len(), "not even the corpus was run");
}

#[test]
fn a_coding_that_was_refused_is_not_given() {
    hold("accept");
}

#[test]
fn an_answer_ends_where_another_client_ends_it() {
    hold("answer");
}

#[test]
fn a_chunked_body_means_the_same_however_it_arrives() {
    hold("chunked");
}

#[test]
fn rows_are_grouped_alike_in_any_order() {
    hold("clusters");
}

#[test]
fn a_date_is_read_as_a_well_known_reader_reads_it() {
    hold("date");
}

#[test]
fn a_directive_said_twice_is_the_same_directive() {
    hold("request_directives");
}

#[test]
fn a_folder_of_a_model_embeds_or_is_refused() {
    hold("embed_dir");
}

#[test]
fn a_filter_is_turned_round_by_not() {
    hold("filter");
}

#[test]
fn a_client_behind_proxies_never_chooses_its_address() {
    hold("forwarded");
}

#[test]
fn a_request_ends_where_another_server_ends_it() {
    hold("framing");
}

#[test]
fn an_answer_is_never_fresh_for_longer_than_stated() {
    hold("freshness");
}

#[test]
fn an_accepted_head_can_be_read_in_one_way_only() {
    hold("head");
}

#[test]
fn two_requests_of_one_key_ask_for_one_thing() {
    hold("key");
}

#[test]
fn a_log_line_survives_being_written_again() {
    hold("line");
}

#[test]
fn a_statsd_works_by_what_it_takes_from_a_file() {
    hold("statsd_config");
}

#[test]
fn a_sample_counts_the_same_however_its_lines_arrive() {
    hold("statsd_line");
}

#[test]
fn no_log_of_traffic_steers_a_terminal_or_tells_a_secret() {
    hold("traffic");
}

#[test]
fn a_captured_part_stands_in_the_path() {
    hold("path");
}

#[test]
fn a_body_of_tensors_is_answered_or_refused_whole() {
    hold("oip_body");
}

#[test]
fn rows_of_a_graph_give_the_same_alone_and_together() {
    hold("onnx_model");
}

#[test]
fn a_query_value_is_decoded_as_the_standard_says() {
    hold("query");
}

#[test]
fn a_range_lies_inside_the_body() {
    hold("range");
}

#[test]
fn a_ranking_request_is_answered_or_refused_whole() {
    hold("rank");
}

#[test]
fn a_file_of_tensors_takes_no_more_than_it_holds() {
    hold("safetensors");
}

#[test]
fn two_clients_share_only_what_neither_of_them_chose() {
    hold("sharing");
}

#[test]
fn a_structured_field_survives_being_rendered() {
    hold("structured");
}

#[test]
fn rows_score_the_same_alone_and_together() {
    hold("trees_model");
}

#[test]
fn a_user_id_is_what_the_request_says_once() {
    hold("user");
}

#[test]
fn two_requests_of_one_variant_key_have_equal_values() {
    hold("vary");
}

#[test]
fn every_target_is_run_here() {
    let text = include_str!("targets.rs");
    for target in &fuzz::TARGETS {
        assert!(text.contains(&format!("hold(\"{}\")", target.name)), "`{}`", target.name);
    }
}

#[test]
fn a_log_line_means_the_same_beside_any_other() {
    hold("log");
}
