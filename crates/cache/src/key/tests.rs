//! Claims about the resource that a key names.

use super::Resource;

#[test]
fn a_key_names_its_resource_whatever_follows() {
    for rest in ["", "\n\x01", "\nuser=\x01\0\0\0\n", "\n\n", "\n;a=b\naccept=x"] {
        let key = format!("http\na.example:81\n/x?y{rest}");
        let resource = Resource::of_key(key.as_bytes());
        assert_eq!(resource, Resource { host: b"a.example:81", target: b"/x?y" }, "{rest:?}");
    }
    assert_eq!(Resource::of_key(b"http\n\n/"), Resource { host: b"", target: b"/" });
}
