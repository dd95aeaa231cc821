//! Claims about who is found behind a connection, and about names of users.

use std::net::SocketAddr;
use std::net::{TcpListener, TcpStream};

use super::{connection_uid, name_in, uid_in, user_name};

#[cfg(target_endian = "little")]
const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     7        0 100 1
   1: 0100007F:1F91 0100007F:C350 01 00000000:00000000 00:00000000 00000000     7        0 101 1
   2: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000    33        0 103 1
   3: 0100007F:C351 0100007F:1F91 06 00000000:00000000 03:00000000 00000000     0        0 0 3
   4: 0100007F:C350 0100007F:1F91 01 00000000:00000000 00:00000000 00000000  1000        0 102 1
";

#[cfg(target_endian = "little")]
const TABLE_6: &str = "\
  sl  local_address                         remote_address                        st tx_queue …
   0: 0000000000000000FFFF00000100007F:C352 0000000000000000FFFF00000100007F:1F91 01 0:0 0:0 0 5 0 9
   1: 00000000000000000000000001000000:C353 00000000000000000000000001000000:1F91 01 0:0 0:0 0 6 0 9
";

fn at(address: &str) -> SocketAddr {
    address.parse().unwrap()
}

#[test]
#[cfg(target_endian = "little")]
fn the_clients_end_is_found_by_both_ports() {
    assert_eq!(uid_in(TABLE, at("127.0.0.1:50000"), 8081), Some(1000));
    assert_eq!(uid_in(TABLE, at("127.0.0.1:50000"), 8080), Some(33));
    assert_eq!(uid_in(TABLE, at("[::ffff:127.0.0.1]:50000"), 8081), Some(1000));
    assert_eq!(uid_in(TABLE, at("127.0.0.2:50000"), 8081), None);
}

#[test]
#[cfg(target_endian = "little")]
fn a_socket_that_nobody_holds_is_nobodys() {
    assert_eq!(uid_in(TABLE, at("127.0.0.1:50001"), 8081), None);
}

#[test]
#[cfg(target_endian = "little")]
fn addresses_of_ipv6_are_read_also_where_they_hold_one_of_ipv4() {
    assert_eq!(uid_in(TABLE_6, at("127.0.0.1:50002"), 8081), Some(5));
    assert_eq!(uid_in(TABLE_6, at("[::1]:50003"), 8081), Some(6));
}

#[test]
fn broken_tables_name_nobody() {
    for table in ["", "sl\n", "sl\n0: x y", "sl\n0: 0100007F:1 0100007F:2 01 a b c d e f"] {
        assert_eq!(uid_in(table, at("127.0.0.1:1"), 2), None);
    }
}

#[test]
fn a_real_connection_is_this_processs_own() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
    let uid: u32 = uid.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(connection_uid(client.local_addr().unwrap(), port), Some(uid));
    assert_eq!(connection_uid(at("192.0.2.1:5"), port), None);
}

#[test]
fn users_are_named_by_the_machines_own_list() {
    let users = "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/sh\n";
    assert_eq!(name_in(users, 1000).as_deref(), Some("alice"));
    assert_eq!(name_in(users, 1), None);
    assert_eq!(user_name(0).as_deref(), Some("root"));
}
