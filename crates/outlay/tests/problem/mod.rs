//! Problem files: valid ones, error messages and random text.

mod document;
mod errors;
mod files;
mod random_text;
