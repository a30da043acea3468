-- Names of tokens, for people.
ALTER TABLE token ADD COLUMN name TEXT;
