//! Claims about whole pipelines: batches, fences, failures and what ends up in a sink.
