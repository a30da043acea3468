//! Colours that remain distinguishable with colour vision deficiency, for light and dark
//! backgrounds, and dashes.

/// A colour by its role.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Colour {
    /// Text and other prominent elements.
    Ink,
    /// Less prominent elements.
    Muted,
    /// Lines of the grid.
    Grid,
    /// Background.
    Ground,
    /// One of several series; colours repeat with another dash.
    Series(usize),
    /// One of up to [`AREAS`] areas that touch each other.
    Area(usize),
    /// The area of everything else.
    Others,
}

/// Number of area colours.
pub(crate) const AREAS: usize = 12;

/// For light and for dark backgrounds: the hues of Okabe and Ito, adjusted until the nearest two
/// differ by more than 20 in CIELAB, also for the three kinds of dichromacy.
const SERIES: [(&str, &str); 8] = [
    ("#204ceb", "#3979ff"),
    ("#a21400", "#ff5d39"),
    ("#098545", "#1bd978"),
    ("#b73ba1", "#cc7ca8"),
    ("#a99300", "#f3c928"),
    ("#37a2ff", "#a2ffff"),
    ("#1f0864", "#d58eff"),
    ("#555555", "#c4c0ae"),
];

/// Six hues, strong and then pale, which differ in the same way by about 19.
const STACK: [&str; AREAS] = [
    "#1158d7", "#d46a17", "#0a9657", "#a32c72", "#cac11c", "#5e3388", //
    "#6bb6ff", "#f4b669", "#7fb79b", "#c082b0", "#eeedbe", "#c0d1e6",
];

/// Series differ by colour and dash: colours repeat after eight series, but with another dash.
const DASHES: [&str; 4] = ["", "9 3", "3 2.5", "10 3 2.5 3"];

impl Colour {
    /// The suffix of its CSS classes.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Ink => "ink".to_owned(),
            Self::Muted => "muted".to_owned(),
            Self::Grid => "grid".to_owned(),
            Self::Ground => "ground".to_owned(),
            Self::Series(position) => format!("series{}", position % SERIES.len()),
            Self::Area(position) => format!("area{}", position % AREAS),
            Self::Others => "others".to_owned(),
        }
    }

    pub(crate) fn light(self) -> &'static str {
        match self {
            Self::Ink => "#1c2733",
            Self::Muted => "#5c6773",
            Self::Grid => "#e3e7eb",
            Self::Ground => "#ffffff",
            Self::Series(position) => SERIES[position % SERIES.len()].0,
            Self::Area(position) => STACK[position % AREAS],
            Self::Others => "#b4bac0",
        }
    }

    fn dark(self) -> &'static str {
        match self {
            Self::Ink => "#e6eaee",
            Self::Muted => "#a2acb6",
            Self::Grid => "#2f3842",
            Self::Ground => "#14191f",
            Self::Series(position) => SERIES[position % SERIES.len()].1,
            Self::Area(position) => STACK[position % AREAS],
            Self::Others => "#6b747d",
        }
    }
}

/// The style of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// The SVG dash array; empty for a solid line.
    pub(crate) dash: &'static str,
}

impl Stroke {
    pub(crate) fn plain(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: "" }
    }

    /// The line of the series at a position.
    pub(crate) fn series(position: usize) -> Self {
        let dash = DASHES[(position + position / SERIES.len()) % DASHES.len()];
        Self { colour: Colour::Series(position), width: 1.8, dash }
    }

    /// A thin line that accompanies the series at a position; there may be several.
    pub(crate) fn companion(position: usize, which: usize) -> Self {
        const DASHES: [&str; 3] = ["2 3.5", "6 4", "6 3 1.5 3"];
        Self { colour: Colour::Series(position), width: 1.1, dash: DASHES[which % DASHES.len()] }
    }
}

/// Colours for dark screens; paper stays white.
pub(crate) fn dark_style() -> String {
    let fixed = [Colour::Ink, Colour::Muted, Colour::Grid, Colour::Ground, Colour::Others];
    let rules: String = fixed
        .into_iter()
        .chain((0..SERIES.len()).map(Colour::Series))
        .map(|colour| {
            let (name, dark) = (colour.name(), colour.dark());
            format!(".fill-{name}{{fill:{dark}}}.stroke-{name}{{stroke:{dark}}}")
        })
        .collect();
    format!("@media screen and (prefers-color-scheme:dark){{{rules}}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_two_lines_are_distinguishable() {
        let look =
            |position| (Stroke::series(position).colour.light(), Stroke::series(position).dash);
        for one in 0..32 {
            for other in 0..one {
                assert_ne!(look(one), look(other), "{one} and {other}");
            }
        }
    }

    #[test]
    fn the_style_needs_no_escaping() {
        assert_eq!(super::super::text::escape(&dark_style()), dark_style());
    }
}
