//! Claims about reading a umask, and about finding what is wider.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

use super::Umask;

#[test]
fn a_umask_is_three_or_four_octal_digits_that_leave_the_owner_in() {
    for (text, shown) in [("027", "027"), ("0027", "027"), ("000", "000"), ("077", "077")] {
        assert_eq!(Umask::parse(text).unwrap().to_string(), shown);
    }
    for wrong in ["", "27", "00027", "028", "+27", "0o27", "u=rwx", "1027"] {
        let reason = Umask::parse(wrong).unwrap_err();
        assert!(reason.contains("is no umask"), "{wrong}: {reason}");
    }
    assert!(Umask::parse("277").unwrap_err().contains("keeps the owner out"));
}

#[test]
fn only_what_is_there_and_wider_is_told_with_the_mode_that_fits() {
    let folder = testkit::TempDir::new().unwrap();
    let made = |name: &str, mode| {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path
    };
    let (wide, fitting) = (made("wide", 0o755), made("fitting", 0o750));
    let paths = [wide, fitting, folder.path().join("absent"), "/dev/null".into()];
    let told = Umask::default().wider(&paths);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("wide` has mode 0755; `chmod 0750`"), "{told:?}");
    assert!(Umask::parse("022").unwrap().wider(&paths).is_empty());
}
