-- The first form of the store. Rows are only added, except for counts.
CREATE TABLE meta (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE campaign (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tasks INTEGER NOT NULL,
    status INTEGER NOT NULL,
    version INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    spec TEXT NOT NULL
) STRICT;

-- A campaign was created (status is null), or its status was set.
CREATE TABLE status_event (
    campaign INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    token TEXT NOT NULL,
    status INTEGER,
    PRIMARY KEY (campaign, seq)
) STRICT, WITHOUT ROWID;

-- Rounds first..past with one split; spend, success, idx are 64-bit floats, little endian;
-- available has one byte per task.
CREATE TABLE ask (
    campaign INTEGER NOT NULL,
    first INTEGER NOT NULL,
    past INTEGER NOT NULL,
    there INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    stats_version INTEGER NOT NULL,
    at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    token TEXT NOT NULL,
    budget REAL NOT NULL,
    available BLOB,
    spend BLOB NOT NULL,
    success BLOB NOT NULL,
    idx BLOB NOT NULL,
    PRIMARY KEY (campaign, first)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX ask_by_seq ON ask (campaign, seq);
-- Covers the search for open rounds without reading splits.
CREATE INDEX ask_by_expiry ON ask (campaign, expires_at, past, there);

-- The new outcomes of one report; items.rs writes the column items.
CREATE TABLE told (
    campaign INTEGER NOT NULL,
    round INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    is_late INTEGER NOT NULL,
    at INTEGER NOT NULL,
    token TEXT NOT NULL,
    items BLOB NOT NULL,
    PRIMARY KEY (campaign, round, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX told_by_seq ON told (campaign, seq);

CREATE TABLE correction (
    campaign INTEGER NOT NULL,
    round INTEGER NOT NULL,
    task INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    from_completed INTEGER NOT NULL,
    from_reward INTEGER NOT NULL,
    to_completed INTEGER NOT NULL,
    to_reward INTEGER NOT NULL,
    at INTEGER NOT NULL,
    token TEXT NOT NULL,
    why TEXT NOT NULL,
    PRIMARY KEY (campaign, round, task, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX correction_by_seq ON correction (campaign, seq);

-- The sums of the rows above, updated with them; compared with the rows at every start.
CREATE TABLE tally (
    campaign INTEGER PRIMARY KEY,
    version INTEGER NOT NULL,
    rounds INTEGER NOT NULL,
    late INTEGER NOT NULL
) STRICT;
CREATE TABLE task_count (
    campaign INTEGER NOT NULL,
    task INTEGER NOT NULL,
    told INTEGER NOT NULL,
    completions INTEGER NOT NULL,
    reward_sum INTEGER NOT NULL,
    expected INTEGER NOT NULL,
    PRIMARY KEY (campaign, task)
) STRICT, WITHOUT ROWID;

CREATE TABLE used_key (
    token TEXT NOT NULL,
    key TEXT NOT NULL,
    request BLOB NOT NULL,
    campaign TEXT NOT NULL,
    first INTEGER NOT NULL,
    past INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (token, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX used_key_by_expiry ON used_key (expires_at);

-- Scopes are a JSON array of strings.
CREATE TABLE token (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    scopes TEXT NOT NULL,
    campaign TEXT,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
