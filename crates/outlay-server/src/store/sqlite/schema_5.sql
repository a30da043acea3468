-- Actual spends beside the allocated spends of the same outcomes, in billionths of a campaign's unit of spend.
ALTER TABLE task_count ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task_count ADD COLUMN allocated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoint_count ADD COLUMN spent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE checkpoint_count ADD COLUMN allocated INTEGER NOT NULL DEFAULT 0;

-- from_completed and to_completed are numbers of completions from this form on. to_expected is null
-- if the outcome keeps the expected completions that were reported with it.
ALTER TABLE correction ADD COLUMN from_spent INTEGER;
ALTER TABLE correction ADD COLUMN from_allocated INTEGER;
ALTER TABLE correction ADD COLUMN to_spent INTEGER;
ALTER TABLE correction ADD COLUMN to_allocated INTEGER;
ALTER TABLE correction ADD COLUMN to_expected INTEGER;
