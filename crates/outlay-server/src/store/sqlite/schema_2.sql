-- The use that was noted last.
ALTER TABLE token ADD COLUMN last_used_at INTEGER;
