//! Exports of a store as lines of JSON.

use std::io::Write;

use super::ArchiveError;
use super::line::{AskLine, CheckpointLine, Contents, CorrectionLine, FORM, Line};
use crate::store::{CampaignRow, Correction, Event, EventKind, Store};

/// Page size for campaigns and events, so that memory use is bounded.
const PAGE: usize = 500;

/// Writes all data of a store except idempotency keys, which expire within a day. If the store is
/// written to meanwhile, each campaign is exported as of the time when it is read.
///
/// # Errors
/// If the store cannot be read or the lines cannot be written.
pub fn export(store: &dyn Store, out: &mut dyn Write) -> Result<Contents, ArchiveError> {
    let mut writing = Writing { out, contents: Contents::default() };
    writing.line(&Line::Export { form: FORM })?;
    for token in store.tokens()? {
        writing.contents.tokens += 1;
        writing.line(&Line::Token((&token).into()))?;
    }
    let mut after = None;
    loop {
        let page = store.campaigns(after.as_deref(), PAGE)?;
        for row in &page {
            writing.campaign(store, row)?;
        }
        match page.into_iter().next_back() {
            Some(row) => after = Some(row.id),
            None => break,
        }
    }
    let contents = writing.contents;
    writing.line(&Line::End(contents))?;
    writing.out.flush().map_err(|error| cannot_write(&error))?;
    Ok(contents)
}

fn cannot_write(error: &std::io::Error) -> ArchiveError {
    ArchiveError(format!("cannot write the export: {error}"))
}

struct Writing<'a> {
    out: &'a mut dyn Write,
    contents: Contents,
}

impl Writing<'_> {
    fn line(&mut self, line: &Line) -> Result<(), ArchiveError> {
        let mut text =
            serde_json::to_string(line).map_err(|error| ArchiveError(error.to_string()))?;
        text.push('\n');
        self.contents.lines += 1;
        self.out.write_all(text.as_bytes()).map_err(|error| cannot_write(&error))
    }

    fn campaign(&mut self, store: &dyn Store, row: &CampaignRow) -> Result<(), ArchiveError> {
        self.contents.campaigns += 1;
        let before = self.contents;
        // Everything counted by now must be exported; later writes may be.
        let standing = store.standing(&row.id)?;
        let checkpoint = store.checkpoint(&row.id)?;
        let told: u64 = standing.tasks.iter().map(|count| count.told).sum();
        let mut after = 0;
        loop {
            let page = store.events(&row.id, after, PAGE)?;
            let Some(last) = page.last() else { break };
            after = last.seq;
            for event in page {
                let is_first = event.kind == EventKind::Created;
                let line = self.event(row, event);
                self.line(&line)?;
                if let Some(checkpoint) = checkpoint.clone().filter(|_| is_first) {
                    let line = CheckpointLine::new(&row.id, checkpoint);
                    line.count(&mut self.contents);
                    self.line(&Line::Checkpoint(line))?;
                }
            }
        }
        if store.checkpoint(&row.id)? != checkpoint {
            return Err(ArchiveError(format!(
                "campaign {}: rounds were compacted during the export; run it again",
                row.id
            )));
        }
        let present = store.campaign(&row.id)?;
        if present.is_none_or(|present| present.amendments != row.amendments) {
            return Err(ArchiveError(format!(
                "campaign {}: it was amended or deleted during the export; run it again",
                row.id
            )));
        }
        let (rounds, items) =
            (self.contents.rounds - before.rounds, self.contents.items - before.items);
        if rounds < standing.rounds || items < told {
            let (id, of_rounds) = (&row.id, standing.rounds);
            let what = format!(
                "campaign {id}: {rounds} of {of_rounds} rounds and {items} of {told} outcomes can be found"
            );
            return Err(ArchiveError(format!(
                "{what}: the store is damaged; `outlay verify` lists the errors, `outlay restore` restores a backup"
            )));
        }
        Ok(())
    }

    fn event(&mut self, row: &CampaignRow, Event { at, token: by, kind, .. }: Event) -> Line {
        let campaign = row.id.clone();
        match kind {
            EventKind::Created => {
                Line::Campaign { id: campaign, tasks: row.tasks, at, by, spec: row.spec.clone() }
            }
            EventKind::StatusSet(status) => Line::Status { campaign, at, by, status },
            EventKind::Amended { problem, tasks, changes } => {
                self.contents.amendments += 1;
                Line::Amendment { campaign, at, by, tasks, problem, changes }
            }
            EventKind::Asked(split) => {
                let line = AskLine::new(&campaign, &by, &split);
                self.contents.rounds += line.count();
                Line::Ask(line)
            }
            EventKind::Told { round, items, is_late } => {
                self.contents.items += items.len() as u64;
                Line::Tell {
                    campaign,
                    round,
                    at,
                    by,
                    late: is_late,
                    items: items.into_iter().map(Into::into).collect(),
                }
            }
            EventKind::Corrected { round, task, to, expected, why, .. } => {
                self.contents.corrections += 1;
                let token = by;
                let correction = Correction { campaign, round, task, to, expected, why, at, token };
                Line::Correction(CorrectionLine::new(correction))
            }
        }
    }
}
