//! Model APIs: features, ranking, queues.
