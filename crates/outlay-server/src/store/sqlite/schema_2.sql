-- The last recorded use.
ALTER TABLE token ADD COLUMN last_used_at INTEGER;
