//! Problem files: valid ones, error messages and random text.

mod errors;
mod files;
mod random_text;
