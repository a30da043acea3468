//! Colours that can be told apart by those who see fewer of them, on light and on dark ground; and dashes for the rest.

/// A colour by what it is for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Colour {
    /// Text and what is to be read first.
    Ink,
    /// What is to be read last.
    Muted,
    /// Lines of the grid.
    Grid,
    /// What is drawn upon.
    Ground,
    /// One of any number of things that are compared; they repeat, with another dash.
    Series(usize),
    /// One of up to [`AREAS`] areas that touch each other.
    Area(usize),
    /// The area of everything else.
    Others,
}

/// How many areas have a colour of their own.
pub(crate) const AREAS: usize = 12;

/// On light ground and on dark ground: after Okabe and Ito, with the pale ones made darker on white.
const SERIES: [(&str, &str); 8] = [
    ("#0068b0", "#58aef0"),
    ("#d55000", "#ff8a4a"),
    ("#00906a", "#2fd0a0"),
    ("#b8488f", "#f09ad0"),
    ("#c08600", "#f2c040"),
    ("#38a4dc", "#a8e0ff"),
    ("#5a3a9c", "#b094ff"),
    ("#555555", "#d0d0d0"),
];

/// Six hues strong, then pale: neighbours differ in hue, and where not in lightness.
const STACK: [&str; AREAS] = [
    "#2f78b7", "#e08a1e", "#2a9d78", "#b9508f", "#d9bf3c", "#6a51a3", //
    "#8fc1e6", "#f3c389", "#92d3bd", "#e3a6cb", "#efe29a", "#b9aed8",
];

/// Learners differ by colour and by these; a thing nine places on has the same colour, but not the same dash.
const DASHES: [&str; 4] = ["", "9 3", "3 2.5", "10 3 2.5 3"];

impl Colour {
    /// The name its classes end with.
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

/// How a line is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    /// As SVG has it; empty for a line without gaps.
    pub(crate) dash: &'static str,
}

impl Stroke {
    pub(crate) fn plain(colour: Colour, width: f64) -> Self {
        Self { colour, width, dash: "" }
    }

    /// The line of the thing at a position.
    pub(crate) fn series(position: usize) -> Self {
        let dash = DASHES[(position + position / SERIES.len()) % DASHES.len()];
        Self { colour: Colour::Series(position), width: 1.8, dash }
    }

    /// A thin line that accompanies the thing at a position; it may have several.
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
    fn thirty_two_lines_can_be_told_apart() {
        let look = |position| (Stroke::series(position).colour.light(), Stroke::series(position).dash);
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
