//! Build, validate and look up profile generations.
