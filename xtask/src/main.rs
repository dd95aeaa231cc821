//! Every line of CI as a command anyone can run.

fn main() {}
