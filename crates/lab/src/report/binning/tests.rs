//! Claims about bins.

use stdx::Random;
use verdicts::{Quantised, Tooth};

use super::*;

fn distances(edges: BinEdges, marks: &[f64]) -> Vec<f64> {
    let width = (edges.ends[1] - edges.ends[0]) / edges.count as f64;
    let place = |mark: &f64| ((mark - edges.ends[0]) / width).rem_euclid(1.0);
    marks.iter().map(|mark| place(mark).min(1.0 - place(mark))).collect()
}

#[test]
fn teeth_stand_in_the_middle_of_bins_and_other_places_away_from_edges() {
    for (teeth, high) in [(vec![70.0, 320.0, 570.0, 820.0], 840.0), (vec![3.0, 10.0, 17.0], 19.0)] {
        let edges = edges([0.0, high], 0.5, &teeth);
        assert!(distances(edges, &teeth).iter().all(|far| *far > 0.45), "{edges:?}");
        assert!(edges.ends[0] <= 0.5 && edges.ends[1] >= high && edges.count <= 61, "{edges:?}");
    }
    let places = [46.0, 66.0, 98.0, 161.0];
    let edges = edges([0.0, 180.0], 40.0, &places);
    assert!(distances(edges, &places).iter().all(|far| *far > 0.15), "{edges:?}");
}

#[test]
fn without_places_there_are_forty_bins_from_end_to_end() {
    let whole = BinEdges { ends: [0.0, 80.0], count: 40 };
    assert_eq!(edges([0.0, 80.0], 3.0, &[]), whole);
    assert_eq!(edges([5.0, 5.0], 5.0, &[5.0]), BinEdges { ends: [5.0, 5.0], count: 40 });
}

#[test]
fn each_narrow_tooth_is_one_bar_and_no_call_is_lost() {
    let mut random = Random::new(1);
    for quantum in [41.0, 100.0, 250.0, 333.0] {
        let mut total_ms: Vec<f64> = (0..200).map(|_| 5.0 + random.fraction()).collect();
        let teeth: Vec<f64> = (1..=4).map(|k| 5.5 + f64::from(k) * quantum).collect();
        total_ms.extend(teeth.iter().flat_map(|tooth| [tooth - 0.4, *tooth, tooth + 0.4]));
        let calls = total_ms.len() as u64;
        let series = Series { total_ms, ..Series::default() };
        let comb = Quantised {
            spacing: "linear".into(),
            teeth: (1..=4).map(|k| Tooth { k, calls: 3 }).collect(),
            ..Quantised::default()
        };
        let sorted = Sorted::new(&series.total_ms);
        let verdicts = [Verdict::Quantised(comb)];
        let counted = counted(&series, &sorted, &verdicts, &teeth).unwrap();
        assert_eq!(counted.counts.iter().sum::<u64>(), calls, "{quantum}");
        assert_eq!(counted.counts.iter().filter(|calls| **calls == 3).count(), 4, "{counted:?}");
    }
}
