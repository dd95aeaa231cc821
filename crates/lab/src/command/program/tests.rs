//! How programs are started.

use super::{CommandInput, CommandOutput, FailurePolicy, Program, RunContext, RunPurpose};

fn run(program: &Program, input: &CommandInput, output: &CommandOutput) -> super::Trial {
    let occasion = RunPurpose::Run(4);
    let surroundings =
        RunContext { input, output, failures: &FailurePolicy::Fatal, occasion, apart: None };
    program.run(&surroundings).unwrap()
}

#[test]
fn without_a_shell_a_line_is_taken_apart_as_a_shell_would() {
    let program = Program::of(None, "grep -i 'to do' \"a b\"").unwrap();
    let words = ["grep", "-i", "to do", "a b"].map(str::to_owned).to_vec();
    assert_eq!(program, Program::Direct(words));
    assert_eq!(program.line(), "grep -i 'to do' 'a b'");
    assert!(Program::of(None, "a 'b").is_err());
    assert!(Program::of(None, "  ").is_err());
}

#[test]
fn input_comes_from_a_file_and_output_goes_into_one() {
    let dir = testkit::TempDir::new().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    std::fs::write(&from, "words").unwrap();
    let program =
        Program::of(Some(&["sh".to_owned()]), "cat; printf \" $HYPERFINE_ITERATION\"").unwrap();
    run(&program, &CommandInput::File(from), &CommandOutput::File(to.clone()));
    assert_eq!(std::fs::read_to_string(to).unwrap(), "words 4");
}

#[test]
fn a_pipe_is_read_to_its_end() {
    let program = Program::of(Some(&["sh".to_owned()]), "head -c 300000 /dev/zero").unwrap();
    assert_eq!(run(&program, &CommandInput::Null, &CommandOutput::Pipe).exit_code, Some(0));
}
