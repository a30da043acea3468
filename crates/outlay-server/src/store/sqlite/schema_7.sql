-- Amendments: the problem of a campaign after each of them, with the difference to the one before, for the record.
CREATE TABLE amendment (
    campaign INTEGER NOT NULL,
    number INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    token TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    problem TEXT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (campaign, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX amendment_by_seq ON amendment (campaign, seq);

-- Their number so far. Rounds belong to the problem of the time when they were issued.
ALTER TABLE campaign ADD COLUMN amendments INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ask ADD COLUMN amendments INTEGER NOT NULL DEFAULT 0;
