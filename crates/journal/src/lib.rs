//! A durable line log used as a queue: append, sync, rotate, tail, resume.
