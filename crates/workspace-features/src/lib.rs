//! An empty library. Its manifest selects the features of transitive dependencies.
