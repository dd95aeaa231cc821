//! The ClickHouse of Debian, 18.16: it takes plain inserts, and knows no deduplication tokens, so
//! nothing is killed here. Tokens are simulated in the tests of `sinks`.

use std::net::SocketAddr;
use std::process::Command;

use serde_json::Value;
use testkit::{Client, Server, TempDir, free_port};

use crate::engine;
use crate::ledger::{Engine, Totals, prove};

struct ClickHouse {
    server: Server,
    _folder: TempDir,
}

impl ClickHouse {
    fn start() -> Option<Self> {
        let program = engine("clickhouse", "clickhouse-server")?.join("clickhouse-server");
        let folder = TempDir::new().unwrap();
        let (http, tcp, inter) = (free_port(), free_port(), free_port());
        let path = folder.path().display();
        let config = format!(
            "<yandex><logger><level>warning</level><console>1</console></logger>\
             <http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>\
             <interserver_http_port>{inter}</interserver_http_port>\
             <listen_host>127.0.0.1</listen_host><path>{path}/</path>\
             <tmp_path>{path}/tmp/</tmp_path><mark_cache_size>5368709120</mark_cache_size>\
             <users_config>users.xml</users_config><default_profile>default</default_profile>\
             <default_database>default</default_database><timezone>UTC</timezone></yandex>"
        );
        let users = "<yandex><profiles><default/></profiles><quotas><default/></quotas><users>\
                     <tidegate><password>s3cret</password><networks><ip>127.0.0.1</ip></networks>\
                     <profile>default</profile><quota>default</quota></tidegate></users></yandex>";
        std::fs::write(folder.path().join("config.xml"), config).unwrap();
        std::fs::write(folder.path().join("users.xml"), users).unwrap();
        let mut command = Command::new(program);
        command.arg("--config-file=config.xml").current_dir(folder.path());
        let server = Server::spawn(command, SocketAddr::from(([127, 0, 0, 1], http))).unwrap();
        Some(Self { server, _folder: folder })
    }
}

impl Engine for ClickHouse {
    fn url(&self) -> String {
        let address = self.server.address();
        format!("clickhouse://tidegate:s3cret@{address}/default?guarantee=at-least-once")
    }

    fn totals(&self) -> Totals {
        let query = "/?query=SELECT+path,sum(count)+AS+c,sum(sum_bytes_out)+AS+s+FROM+hits+\
                     GROUP+BY+path+FORMAT+JSONEachRow&output_format_json_quote_64bit_integers=0";
        let reply = Client::get(self.server.address(), query)
            .header("x-clickhouse-user", "tidegate")
            .header("x-clickhouse-key", "s3cret")
            .send();
        let rows = reply.text().lines().map(|line| {
            let row: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
            let number = |name: &str| row[name].as_i64().unwrap();
            (row["path"].as_str().unwrap().to_owned(), (number("c"), number("s")))
        });
        rows.collect()
    }

    fn crash(&mut self) {
        unreachable!("a server without tokens is not killed");
    }
}

#[test]
fn clickhouse_adds_up_what_it_is_given() {
    let Some(mut server) = ClickHouse::start() else { return };
    prove(&mut server, 0, 0);
    testkit::notice("clickhouse: plain inserts ran on a real server 18.16; tokens are simulated");
}
