//! Learners as series: each keeps its name and colour on the whole page.

use std::collections::{BTreeMap, BTreeSet};

use outlay::simulation::{LearnerSummary, Summary};

use crate::svg::{Entry, Scale, Stroke, Swatch};

/// Name, feedback and repetition of a learner, which identify its series.
type Identity = (String, &'static str, usize);

/// All learners of a page, in order of appearance.
#[derive(Debug)]
pub(super) struct SeriesIndex {
    positions: BTreeMap<Identity, usize>,
    names: Vec<String>,
}

/// One learner on one problem.
#[derive(Debug, Clone)]
pub(super) struct LearnerSeries<'summary> {
    /// Determines colour and dash.
    pub(super) position: usize,
    pub(super) name: String,
    pub(super) result: &'summary LearnerSummary,
}

impl SeriesIndex {
    pub(super) fn of(summaries: &[Summary]) -> Self {
        let mut positions = BTreeMap::new();
        let mut identities = Vec::new();
        for identity in summaries.iter().flat_map(identities_of) {
            if !positions.contains_key(&identity) {
                positions.insert(identity.clone(), identities.len());
                identities.push(identity);
            }
        }
        let kinds: BTreeSet<_> =
            identities.iter().map(|(learner, feedback, _)| (learner.as_str(), *feedback)).collect();
        let named = |(learner, feedback, again): &Identity| {
            let several = kinds.iter().filter(|(other, _)| other == learner).count() > 1;
            let shown = if several { format!(" ({feedback})") } else { String::new() };
            let place = if *again > 0 { format!(" #{}", again + 1) } else { String::new() };
            format!("{learner}{shown}{place}")
        };
        Self { names: identities.iter().map(named).collect(), positions }
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// The learners of one problem.
    pub(super) fn learners<'summary>(
        &self,
        summary: &'summary Summary,
    ) -> Vec<LearnerSeries<'summary>> {
        let identities = identities_of(summary);
        let learner = |(identity, result)| {
            let position = self.positions.get(identity).copied()?;
            Some(LearnerSeries { position, name: self.names[position].clone(), result })
        };
        identities.iter().zip(&summary.learners).filter_map(learner).collect()
    }
}

fn identities_of(summary: &Summary) -> Vec<Identity> {
    let mut seen = BTreeMap::new();
    let identity = |result: &LearnerSummary| {
        let kind = (result.learner.clone(), result.feedback.as_str());
        let again = seen.entry(kind.clone()).and_modify(|count| *count += 1).or_insert(0);
        (kind.0, kind.1, *again)
    };
    summary.learners.iter().map(identity).collect()
}

impl LearnerSeries<'_> {
    pub(super) fn stroke(&self) -> Stroke {
        Stroke::series(self.position)
    }

    /// Entry in the legend of a line chart.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            name: self.name.clone(),
            swatch: Swatch::Line(self.stroke()),
            series: Some(self.position),
        }
    }
}

/// The scale of an axis that shows rounds on a logarithmic scale.
pub(super) fn rounds(learners: &[LearnerSeries<'_>]) -> Option<Scale> {
    let points = learners.iter().flat_map(|learner| &learner.result.curve);
    Scale::over_positive(points.map(|point| point.round as f64), f64::INFINITY)
}
