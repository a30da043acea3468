//! Character encodings: the bytes of a file as text.

use std::fmt;

use encoding_rs::{UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::TableError;

/// The encoding of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    Utf8,
    /// UTF-16 in either byte order.
    Utf16,
    /// Windows-1252, which includes the letters of Latin-1. Read if the text is not UTF-8.
    Windows1252,
}

/// The text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The text without a byte order mark.
    pub text: String,
    /// The encoding of the file.
    pub encoding: Encoding,
}

/// A format that is recognised but not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// A zip archive, such as an `.xlsx` or `.ods` file.
    Zip,
    /// An Excel workbook of the old format, `.xls`.
    Xls,
    /// A file compressed with gzip.
    Gzip,
    /// A Parquet file.
    Parquet,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Zip => {
                "an Excel workbook (.xlsx) or another zip archive; save the sheet as CSV (in \
                 Excel: Save As, CSV UTF-8)"
            }
            Self::Xls => {
                "an Excel workbook (.xls); save the sheet as CSV (in Excel: Save As, CSV UTF-8)"
            }
            Self::Gzip => "compressed; unpack it with gunzip",
            Self::Parquet => "a Parquet file; write the table as CSV",
        })
    }
}

const SIGNATURES: [(&[u8], FileFormat); 4] = [
    (b"PK\x03\x04", FileFormat::Zip),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", FileFormat::Xls),
    (b"\x1f\x8b", FileFormat::Gzip),
    (b"PAR1", FileFormat::Parquet),
];
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
const UTF_16_LE_MARK: &[u8] = b"\xff\xfe";
const UTF_16_BE_MARK: &[u8] = b"\xfe\xff";

/// The text of a file.
///
/// Without a byte order mark, text is UTF-16 if one of its first two bytes is zero, and
/// Windows-1252 if it is not valid UTF-8.
///
/// # Errors
/// If the file is a spreadsheet or another known format, or is not text.
pub fn decode(mut bytes: Vec<u8>) -> Result<Decoded, TableError> {
    if let Some((_, format)) = SIGNATURES.iter().find(|(start, _)| bytes.starts_with(start)) {
        return Err(TableError::NotCsv(*format));
    }
    match bytes.get(..2) {
        Some(UTF_16_LE_MARK) => return utf_16(UTF_16LE, &bytes[2..]),
        Some(UTF_16_BE_MARK) => return utf_16(UTF_16BE, &bytes[2..]),
        Some([first, 0]) if *first != 0 => return utf_16(UTF_16LE, &bytes),
        Some([0, second]) if *second != 0 => return utf_16(UTF_16BE, &bytes),
        _ => {}
    }
    if bytes.starts_with(UTF_8_MARK) {
        bytes.drain(..UTF_8_MARK.len());
    }
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text_of(text, Encoding::Utf8),
        Err(error) => error.into_bytes(),
    };
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(&bytes);
    text_of(text.into_owned(), Encoding::Windows1252)
}

fn utf_16(encoding: &'static encoding_rs::Encoding, bytes: &[u8]) -> Result<Decoded, TableError> {
    let (text, has_errors) = encoding.decode_without_bom_handling(bytes);
    if has_errors {
        return Err(TableError::InvalidUtf16);
    }
    text_of(text.into_owned(), Encoding::Utf16)
}

/// Zero bytes do not occur in text.
fn text_of(text: String, encoding: Encoding) -> Result<Decoded, TableError> {
    if text.as_bytes().contains(&0) {
        return Err(TableError::NotText);
    }
    Ok(Decoded { text, encoding })
}
