//! Claims about the screen's lines.

use super::{WIDTH, command, on_one_line, row};

fn parts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_row_is_broken_between_its_parts_and_whole_again_on_one_line() {
    let long = parts(&["personalised 1234ms", "generic 99ms", "no_profile 7ms", "killed 12ms"]);
    let long = [long, parts(&["held_out 1ms", "guarded 2ms", "failed 3ms"])].concat();
    let text = row("lists p99", &long);
    assert!(text.lines().count() > 1, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    assert_eq!(on_one_line(&text), format!("lists p99 {}", long.join(", ")));
}

#[test]
fn a_long_command_goes_on_as_a_shell_reads_it() {
    let file = format!("-c {}/tidegate.toml", "d".repeat(40));
    let text = command(&parts(&["tidegate events query requests", &file]));
    assert_eq!(text, format!("  tidegate events query requests \\\n    {file}\n"));
    assert_eq!(command(&parts(&["curl -i", "'x'"])), "  curl -i 'x'\n");
}
