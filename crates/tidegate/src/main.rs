//! The command line: parse, load the configuration, run the command.

fn main() {}
