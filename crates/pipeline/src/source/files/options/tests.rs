//! Claims about the time of first lines: what one file's line says is of no other file.

use super::time_in;
use crate::config::SourceConfig;
use crate::decode::Format;

const DOCKER_PIECE: &str = concat!(
    r#"{"log":"time=2026-11-21T03:54:12Z pa","stream":"stdout","#,
    r#""time":"2026-11-21T03:54:12Z"}"#,
    "\n",
);
const DOCKER_WHOLE: &str = concat!(
    r#"{"log":"time=2026-11-21T03:54:13Z path=/b\n","stream":"stdout","#,
    r#""time":"2026-11-21T03:54:13Z"}"#,
    "\n",
);

#[test]
fn a_piece_at_the_beginning_of_a_file_leaves_other_files_their_time() {
    let cri = [
        "2026-11-21T03:54:12Z stdout P time=2026-11-21T03:54:12Z pa\n",
        "2026-11-21T03:54:13Z stdout F time=2026-11-21T03:54:13Z path=/b\n",
    ];
    for (wrapper, [piece, whole]) in [("cri", cri), ("docker", [DOCKER_PIECE, DOCKER_WHOLE])] {
        let config = SourceConfig {
            format: Some("logfmt".to_owned()),
            wrapper: Some(wrapper.to_owned()),
            ..SourceConfig::default()
        };
        let time_of = time_in(&Format::parse(&config).unwrap());
        assert_eq!(time_of(piece.as_bytes()), None, "{wrapper}");
        assert_eq!(time_of(whole.as_bytes()), Some(1_795_233_253_000_000), "{wrapper}");
    }
}

#[test]
fn the_columns_of_one_file_are_not_those_of_the_next() {
    let config = SourceConfig { format: Some("w3c".to_owned()), ..SourceConfig::default() };
    let time_of = time_in(&Format::parse(&config).unwrap());
    assert_eq!(time_of(b"#Fields: date time sc-status\n"), None);
    assert_eq!(time_of(b"2026-11-21 03:54:13 200\n"), None);
}
