-- The counts of compacted rounds: the rounds below past without a row in ask.
CREATE TABLE checkpoint (
    campaign INTEGER PRIMARY KEY,
    past INTEGER NOT NULL,
    rounds INTEGER NOT NULL,
    version INTEGER NOT NULL,
    late INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE TABLE checkpoint_count (
    campaign INTEGER NOT NULL,
    task INTEGER NOT NULL,
    told INTEGER NOT NULL,
    completions INTEGER NOT NULL,
    reward_sum INTEGER NOT NULL,
    expected INTEGER NOT NULL,
    PRIMARY KEY (campaign, task)
) STRICT, WITHOUT ROWID;

-- Campaigns that were deleted. Their numbers are not used again; their rows are removed in small
-- batches.
CREATE TABLE deletion (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    token TEXT NOT NULL,
    rounds INTEGER NOT NULL,
    outcomes INTEGER NOT NULL,
    is_purged INTEGER NOT NULL
) STRICT;
CREATE INDEX deletion_to_purge ON deletion (number) WHERE NOT is_purged;
CREATE INDEX deletion_by_id ON deletion (id);

-- The number of the campaign, with which a key is deleted. Keys of earlier versions have none.
ALTER TABLE used_key ADD COLUMN number INTEGER;
