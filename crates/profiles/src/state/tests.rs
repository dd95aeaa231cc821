//! Claims about the manifest: it is read as it was written, or not at all.

use super::*;

#[test]
fn a_manifest_comes_back_whole_or_as_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    assert_eq!(Manifest::read(dir).unwrap(), None);
    fs::write(dir.join("1.reads"), "a leftover").unwrap();
    let mut manifest = Manifest { rows: 7, settings: "a\nb".to_owned(), ..Manifest::default() };
    manifest.journal.marks.push((1, 2));
    manifest.write(dir).unwrap();
    assert_eq!(Manifest::read(dir).unwrap(), Some(manifest));
    assert_eq!(fs::read_dir(dir).unwrap().count(), 1, "leftovers are removed");
    let whole = fs::read(manifest_path(dir)).unwrap();
    for at in 0..whole.len() - 1 {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(manifest_path(dir), &bytes).unwrap();
        assert!(Manifest::read(dir).is_err(), "byte {at}");
        fs::write(manifest_path(dir), &whole[..at]).unwrap();
        assert!(Manifest::read(dir).is_err(), "cut to {at}");
    }
}
