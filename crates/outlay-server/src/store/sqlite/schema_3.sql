-- Names of tokens, for display.
ALTER TABLE token ADD COLUMN name TEXT;
