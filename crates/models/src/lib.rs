//! Pure model evaluation: linear models over resident items.
