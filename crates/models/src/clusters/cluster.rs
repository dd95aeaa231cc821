//! Defines the result of a clustering: groups, and the rows in none.
//!
//! Plain data, by the row's number in the input. `clusters/describe.rs` sees to it that a group has
//! at least one member, the first of which is its label. Each row is in one group or in the noise.
//! Refuses: to know how groups are found.

/// What was found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Clusters {
    /// The largest first; of those as large, the one with the lowest row.
    pub clusters: Vec<Cluster>,
    /// Rows in none, rising; all rows of nothing but zeros are among them.
    pub noise: Vec<u32>,
}

/// Rows that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Cluster {
    /// The nearest to the centroid first: that row is the group's label.
    pub members: Vec<u32>,
    /// Mean cosine of all pairs of members; 1 for a single one.
    pub cohesion: f64,
}

impl Cluster {
    /// Returns the row nearest to the centroid.
    pub fn label(&self) -> u32 {
        self.members[0]
    }
}
