//! Tasks from a table, one row a task.
