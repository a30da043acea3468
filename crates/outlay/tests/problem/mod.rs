//! Problem files: valid ones, error messages and random text.

mod amend;
mod document;
mod errors;
mod files;
mod limits;
mod random_text;
