//! Both methods beside the shortest programs that do the same, on rows that are drawn around
//! centres; what their order, copies and edges do.

use std::collections::BTreeSet;

use super::{Cluster, Clustering, Clusters, DIMS_MAX, EmbedderKind, Method};

const ROWS_MAX: usize = Clustering::ROWS_MAX;

const LINKAGE: Clustering =
    Clustering { method: Method::Linkage, similarity_min: 0.5, members_min: 2 };
const COMMUNITIES: Clustering =
    Clustering { method: Method::Communities, similarity_min: 0.6, members_min: 2 };

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 33
    }

    fn below(&mut self, count: usize) -> usize {
        self.next() as usize % count
    }

    /// About normal.
    fn normal(&mut self) -> f32 {
        let uniform = |random: &mut Self| random.next() as f32 / (1_u64 << 31) as f32;
        (0..4).map(|_| uniform(self)).sum::<f32>() * 1.7 - 3.4
    }
}

/// Rows around a centre for every seven of them, `spread` away from it on average.
fn rows(count: usize, dims: usize, spread: f32, seed: u64) -> Vec<Vec<f32>> {
    let mut random = Random(seed);
    let mut row = |scale: f32| (0..dims).map(|_| random.normal() * scale).collect::<Vec<f32>>();
    let centres: Vec<Vec<f32>> = (0..count.div_ceil(7)).map(|_| row(1.0)).collect();
    (0..count)
        .map(|index| {
            let centre = &centres[index * index % centres.len()];
            row(spread).iter().zip(centre).map(|(a, b)| a + b).collect()
        })
        .collect()
}

fn cluster(how: Clustering, rows: &[Vec<f32>]) -> Clusters {
    how.cluster(&rows.concat(), rows.first().map_or(0, Vec::len)).unwrap()
}

/// All groups as sets, noise as groups of one.
fn sets(clusters: &Clusters) -> BTreeSet<BTreeSet<u32>> {
    let groups = clusters.clusters.iter().map(|cluster| cluster.members.iter().copied().collect());
    groups.chain(clusters.noise.iter().map(|row| BTreeSet::from([*row]))).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| f64::from(a * b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Cosines of all pairs.
fn cosines(rows: &[Vec<f32>]) -> Vec<Vec<f64>> {
    rows.iter().map(|a| rows.iter().map(|b| cosine(a, b)).collect()).collect()
}

fn mean_cosine(cosines: &[Vec<f64>], a: &[u32], b: &[u32]) -> f64 {
    let cosine = |a: &u32, b: &u32| cosines[*a as usize][*b as usize];
    let sum: f64 = a.iter().flat_map(|a| b.iter().map(move |b| cosine(a, b))).sum();
    sum / (a.len() * b.len()) as f64
}

/// Joins the two groups with the highest mean of all, until none is high enough.
fn joined_one_by_one(cosines: &[Vec<f64>], similarity_min: f64) -> BTreeSet<BTreeSet<u32>> {
    let mut groups: Vec<Vec<u32>> = (0..cosines.len() as u32).map(|row| vec![row]).collect();
    loop {
        let pairs = (0..groups.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let means = pairs.map(|(a, b)| (mean_cosine(cosines, &groups[a], &groups[b]), a, b));
        match means.max_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((mean, a, b)) if mean >= similarity_min => {
                let members = groups.remove(b);
                groups[a].extend(members);
            }
            _ => return groups.into_iter().map(|group| group.into_iter().collect()).collect(),
        }
    }
}

#[test]
fn linkage_joins_the_closest_groups_first() {
    for (count, dims, spread) in [(1, 3, 1.0), (2, 5, 0.5), (17, 8, 0.7), (48, 70, 0.9)] {
        let rows = rows(count, dims, spread, 11 + count as u64);
        let cosines = cosines(&rows);
        for similarity_min in [-0.2, 0.1, 0.3, 0.5, 0.8, 0.95] {
            let found = cluster(Clustering { similarity_min, ..LINKAGE }, &rows);
            let wanted = joined_one_by_one(&cosines, f64::from(similarity_min));
            assert_eq!(sets(&found), wanted, "{count} rows, {similarity_min}");
        }
    }
}

/// As the library in Python: sets of neighbours, the largest first, without what is taken.
fn communities(cosines: &[Vec<f64>], how: Clustering) -> BTreeSet<BTreeSet<u32>> {
    let similarity_min = f64::from(how.similarity_min);
    let all = 0..cosines.len() as u32;
    let near = |a: u32, b: &u32| a == *b || cosines[a as usize][*b as usize] >= similarity_min;
    let mut found: Vec<Vec<u32>> =
        all.clone().map(|a| all.clone().filter(|b| near(a, b)).collect()).collect();
    found.retain(|community| community.len() >= how.members_min);
    found.sort_by_key(|community| std::cmp::Reverse(community.len()));
    let mut taken: BTreeSet<u32> = BTreeSet::new();
    let mut kept = BTreeSet::new();
    for community in found {
        let mut left = BTreeSet::from_iter(community);
        left.retain(|row| !taken.contains(row));
        if left.len() >= how.members_min {
            taken.extend(&left);
            kept.insert(left);
        }
    }
    kept.extend(all.filter(|row| !taken.contains(row)).map(|row| BTreeSet::from([row])));
    kept
}

/// In the order in which choices that are equally good are made.
fn sorted(mut rows: Vec<Vec<f32>>) -> Vec<Vec<f32>> {
    let unit = |row: &Vec<f32>| {
        let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
        row.iter().map(|value| value / length).collect::<Vec<f32>>()
    };
    rows.sort_by(|a, b| unit(a).partial_cmp(&unit(b)).unwrap());
    rows
}

#[test]
fn communities_are_the_largest_neighbourhoods_of_what_is_left() {
    for (count, dims, spread) in [(1, 3, 1.0), (40, 4, 0.7), (129, 33, 0.6), (150, 384, 0.8)] {
        let rows = sorted(rows(count, dims, spread, 5 + count as u64));
        let cosines = cosines(&rows);
        for similarity_min in [0.01, 0.3, 0.6, 0.75, 0.9] {
            for members_min in [1, 2, 5] {
                let how = Clustering { similarity_min, members_min, ..COMMUNITIES };
                let found = sets(&cluster(how, &rows));
                assert_eq!(found, communities(&cosines, how), "{count} rows, {how:?}");
            }
        }
    }
}

#[test]
fn members_come_nearest_first_with_the_mean_cosine_of_their_pairs() {
    let rows = rows(60, 24, 0.6, 3);
    let cosines = cosines(&rows);
    for how in [LINKAGE, COMMUNITIES] {
        let found = cluster(how, &rows);
        assert!(found.clusters.len() > 3, "{found:?}");
        for Cluster { members, cohesion } in &found.clusters {
            let of = |row: &u32| mean_cosine(&cosines, &[*row], members);
            assert!(members.is_sorted_by(|a, b| of(a) >= of(b) - 1e-6), "{members:?}");
            let count = members.len() as f64;
            let pairs = mean_cosine(&cosines, members, members) * count * count - count;
            let wanted = pairs / (count * (count - 1.0));
            assert!((cohesion - wanted).abs() < 1e-6, "{cohesion} not {wanted}");
        }
        let sizes: Vec<usize> = found.clusters.iter().map(|c| c.members.len()).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
        assert_eq!(found.clusters[0].label(), found.clusters[0].members[0]);
    }
}

#[test]
fn the_order_of_rows_changes_nothing_but_their_numbers() {
    // Corners of a cube: many choices are equally good. Copies: they are alike in every way.
    let corner = |index: usize| (0..4).map(|bit| (index >> bit & 1) as f32 * 2.0 - 1.0).collect();
    let mut rows = [rows(70, 4, 0.8, 9), (0..16).map(corner).collect()].concat();
    rows.extend_from_within(..20);
    let mut random = Random(4);
    for how in [
        LINKAGE,
        COMMUNITIES,
        Clustering { similarity_min: 0.5, ..COMMUNITIES },
        Clustering { similarity_min: 0.0, ..LINKAGE },
    ] {
        let wanted = contents(&rows, &cluster(how, &rows));
        for _ in 0..5 {
            for end in (1..rows.len()).rev() {
                rows.swap(end, random.below(end + 1));
            }
            assert_eq!(contents(&rows, &cluster(how, &rows)), wanted, "{how:?}");
        }
    }
}

/// Groups by the numbers of their rows and not by their places: labels, members, cohesion.
fn contents(rows: &[Vec<f32>], found: &Clusters) -> BTreeSet<(Vec<Vec<u32>>, u64)> {
    let bits = |row: &u32| rows[*row as usize].iter().map(|value| value.to_bits()).collect();
    let of = |cluster: &Cluster| {
        (cluster.members.iter().map(bits).collect(), cluster.cohesion.to_bits())
    };
    let mut noise: Vec<Vec<u32>> = found.noise.iter().map(bits).collect();
    noise.sort();
    found.clusters.iter().map(of).chain([(noise, 0)]).collect()
}

#[test]
fn copies_are_together_whatever_the_limit_and_the_length() {
    let row = |scale: f32| (0..300).map(|at| (at as f32).sin() * scale).collect::<Vec<f32>>();
    let other = (0..300).map(|at| (at as f32).cos()).collect();
    let rows = [row(1.0), other, row(2.0), row(1.0), row(1e-20), row(1e15)];
    for method in [Method::Linkage, Method::Communities] {
        let found = cluster(Clustering { method, similarity_min: 1.0, members_min: 2 }, &rows);
        assert_eq!(found.clusters.len(), 1, "{found:?}");
        let members = BTreeSet::from_iter(found.clusters[0].members.iter().copied());
        assert_eq!(members, BTreeSet::from([0, 2, 3, 4, 5]));
        assert!(found.clusters[0].cohesion > 0.999_999, "{found:?}");
        assert_eq!(found.noise, [1]);
    }
}

#[test]
fn rows_without_direction_are_noise() {
    let rows = [vec![0.0, -0.0], vec![1.0, 0.0], vec![0.0, 0.0], vec![1.0, -0.0]];
    for how in
        [LINKAGE, COMMUNITIES, Clustering { similarity_min: -1.0, members_min: 1, ..LINKAGE }]
    {
        let found = cluster(how, &rows);
        assert_eq!(found.clusters.len(), 1, "{how:?}");
        assert_eq!(found.clusters[0].members, [1, 3], "{how:?}");
        assert_eq!(found.noise, [0, 2], "{how:?}");
    }
}

#[test]
fn few_rows_are_noise_or_groups_of_one() {
    for method in [Method::Linkage, Method::Communities] {
        let how = Clustering { method, similarity_min: 0.5, members_min: 2 };
        assert_eq!(how.cluster(&[], 384).unwrap(), Clusters::default());
        assert_eq!(how.cluster(&[], 0).unwrap(), Clusters::default());
        let one = how.cluster(&[3.0, 4.0], 2).unwrap();
        assert_eq!(one, Clusters { clusters: Vec::new(), noise: vec![0] });
        let alone = Clustering { members_min: 1, ..how }.cluster(&[3.0, 4.0], 2).unwrap();
        assert_eq!(alone.clusters, [Cluster { members: vec![0], cohesion: 1.0 }]);
        assert!(alone.noise.is_empty());
    }
}

#[test]
fn opposite_rows_are_joined_only_where_that_is_asked_for() {
    let rows = [vec![1.0, 0.0], vec![-1.0, 0.0], vec![0.0, 1.0]];
    let at = |similarity_min| cluster(Clustering { similarity_min, ..LINKAGE }, &rows);
    assert_eq!(at(0.1).noise, [0, 1, 2]);
    assert_eq!(at(0.0).clusters.len(), 1);
    assert_eq!(at(-1.0).clusters[0].members.len(), 3);
}

#[test]
fn what_cannot_be_grouped_is_refused_by_name() {
    let refused =
        |how: Clustering, values: &[f32], dims| how.cluster(values, dims).unwrap_err().to_string();
    let nan = [1.0, 2.0, 3.0, f32::NAN];
    assert_eq!(refused(LINKAGE, &nan, 2), "cluster rows: row 1 has NaN at 1");
    let infinite = [f32::NEG_INFINITY, 2.0];
    assert_eq!(refused(LINKAGE, &infinite, 2), "cluster rows: row 0 has -inf at 0");
    assert_eq!(refused(LINKAGE, &[1.0; 5], 2), "cluster rows: 5 numbers are no rows of 2");
    for dims in [0, DIMS_MAX + 1] {
        let wanted = format!("cluster rows: rows of {dims} numbers, not of 1 to {DIMS_MAX}");
        assert_eq!(refused(LINKAGE, &[1.0; 4], dims), wanted);
    }
    let wanted = format!("cluster rows: {} rows, more than {ROWS_MAX}", ROWS_MAX + 1);
    assert_eq!(refused(COMMUNITIES, &vec![1.0; ROWS_MAX + 1], 1), wanted);
    for similarity_min in [f32::NAN, 1.1, -1.1] {
        let error = refused(Clustering { similarity_min, ..LINKAGE }, &[1.0], 1);
        assert!(error.ends_with("not from -1 to 1"), "{error}");
    }
    let error = refused(Clustering { members_min: 0, ..LINKAGE }, &[1.0], 1);
    assert_eq!(error, "cluster rows: `members_min` is 0, not at least 1");
}

#[test]
fn the_default_takes_any_number_of_rows() {
    let linked = super::linkage::ROWS_MAX;
    assert_eq!(Clustering::for_rows(9, EmbedderKind::Static).method, Method::Linkage);
    assert_eq!(Clustering::for_rows(linked, EmbedderKind::Static).method, Method::Linkage);
    assert_eq!(Clustering::for_rows(linked + 1, EmbedderKind::Static).method, Method::Communities);
}
