//! Problem files: valid ones, error messages and random text.

mod amend;
mod document;
mod errors;
mod files;
mod random_text;
