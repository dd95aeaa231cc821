//! Watch, validate, swap whole, keep the last good, know its age.
