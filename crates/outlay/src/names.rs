//! Names of the variants of an enum, as files, flags and reports spell them.

use crate::text::{did_you_mean, one_line};

/// A text that is not the name of a variant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{name}`: {}", did_you_mean(.name, .known.iter().copied()))]
pub struct UnknownName {
    /// What it should name: "status", "feedback".
    pub kind: &'static str,
    /// The text, on one line.
    pub name: String,
    /// The valid names.
    pub known: Vec<&'static str>,
}

/// Finds the variant with a name.
pub(crate) fn find<T: Copy>(
    kind: &'static str,
    all: &[T],
    as_str: fn(T) -> &'static str,
    text: &str,
) -> Result<T, UnknownName> {
    let found = all.iter().copied().find(|variant| as_str(*variant) == text);
    let known = || all.iter().map(|variant| as_str(*variant)).collect();
    found.ok_or_else(|| UnknownName { kind, name: one_line(text), known: known() })
}

/// Implements `ALL`, `as_str`, `Display` and `FromStr` for an enum without fields.
macro_rules! names {
    ($type:ident, $kind:literal, $($variant:ident = $text:literal),+ $(,)?) => {
        impl $type {
            /// All variants.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$variant),+];

            /// The name in files, flags and reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::UnknownName;

            fn from_str(text: &str) -> Result<Self, $crate::UnknownName> {
                $crate::names::find($kind, &Self::ALL, Self::as_str, text)
            }
        }
    };
}
pub(crate) use names;
