//! HTML reports and SVG figures of outlay's results.
//!
//! Each module makes one kind of page from plain data: [`decision`] (a split, a plan, a frontier),
//! [`simulation`], [`fit`], [`replay`] and [`reproduction`] (the claims of the paper). The crate
//! opens no files, reads no clock and prints nothing. The same data give the same bytes.
//!
//! [`number`] formats numbers for readers, in reports and in the tables of the command line.

pub mod decision;
pub mod fit;
pub mod number;
mod page;
pub mod replay;
pub mod reproduction;
pub mod selection;
pub mod simulation;
mod svg;

pub use page::Page;
